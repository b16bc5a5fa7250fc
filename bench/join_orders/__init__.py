"""Join orders beside each other: streams that change, orders held fixed, and what each takes; for `adapt`."""
