"""Benchmarks, one module per published experiment: `python -m bench` lists them."""
