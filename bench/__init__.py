"""Benchmarks, one module per published experiment: `python -m bench --help` lists them."""
