"""Limits of what files may ask for: how far packed bytes unpack, how deep a document nests; uses nothing."""
