"""Loading: files and graphs in, encoded rows and a report out, in parallel; uses `files` and the
JVM."""
