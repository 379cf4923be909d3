"""The tables of the papers behind the methods, run again.

Each source, a paper or a thesis, has a folder with ``published.toml`` (what its tables print, on
which page, and how the protocol is read here), ``run.py`` (which only produces figures) and
``results.json`` (the figures of a full run). `tables` reads what is printed, `rerun` measures
figures, `results` keeps them, `scoring` is the only place that judges, and `show` prints the
verdicts. ``separatrix reproduce`` runs it all.

A new source is a new folder; nothing else lists it. The package separatrix imports nothing of this
one: it finds the command by the entry point of this distribution.
"""
