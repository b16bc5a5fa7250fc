"""Event patterns by their definitions: what windows show in, event mappings and what justifies them out."""
