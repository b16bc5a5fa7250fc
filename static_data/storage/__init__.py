"""Where encoded rows lie: tables, their counts and edits in, the same from disk again out; uses
`errors` and the JVM."""
