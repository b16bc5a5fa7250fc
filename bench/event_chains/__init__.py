"""Chains of events: batches, the engine that matches them, and its peers; for `events`."""
