"""Streams at full speed and weeks of them: engines that may keep a checkpoint, fed as fast as they take things in."""
