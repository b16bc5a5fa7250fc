"""The commands of `cqels`, one module each, and what they share."""
