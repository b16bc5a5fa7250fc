"""Templates: queries that differ in constants in, their common skeleton and one pattern for all out; uses `patterns`"""
