"""The routes of a server: one module for each kind of thing that has paths."""
