"""The ways into a stream that the bench of ways measures: what they are given, and an engine with queries over it."""
