"""What runs while queries are registered: streams, evaluation instants, prepared queries, answers."""
