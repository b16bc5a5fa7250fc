"""Event patterns by their definitions: what windows show at an instant in, event mappings and what justifies them out."""
