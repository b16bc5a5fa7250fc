"""Structured Streaming jobs as people write them, run by stock Spark and with the extension configured."""
