"""Labels of one domain for the rows of another."""
