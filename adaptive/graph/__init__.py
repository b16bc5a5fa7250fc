"""What is joined: query graphs with relations, filters and binds in, plans over them out; uses
nothing but errors."""
