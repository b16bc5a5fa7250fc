"""Uncertain readings: engines under their settings, cells of an experiment; for `tvs` and `placement`."""
