"""A source with one table, as text."""

EXAMPLE = """
title = "Nobody, An example (2000)"

[[table]]
id = "table1"
title = "Three methods on two sets"
page = 7
protocol = "Ten repeats."
needs = ["first"]
repeats = 10
decisions = { "b" = 100 }
missing = { "b / Z" = "Z is not described" }

[table.published]
"a" = { "X" = 90.10, "Y" = [80, 2] }
"b" = { "X" = 70.5, "Y" = 60.0, "Z" = 50 }

[[table.claim]]
says = "X is better than Y"
left = "X"
right = "Y"
"""
