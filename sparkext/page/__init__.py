"""What a live page shows: an engine in, plain data out; a world to try out; and the page's own files."""
