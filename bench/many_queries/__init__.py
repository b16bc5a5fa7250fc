"""Thousands of instances of the CQELS report's Q1'-Q4', registered and served in a process of their own."""
