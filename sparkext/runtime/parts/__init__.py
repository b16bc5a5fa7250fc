"""What all streams and queries of an engine share, made once from its session's settings; uses
`bridge`, `r2r` and the store of static data."""
