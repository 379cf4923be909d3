"""Fisher's discriminant and its relatives."""
