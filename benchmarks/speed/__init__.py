"""Speed and memory beside peers, as ratios measured in one run: ``python -m benchmarks.speed``."""
