"""What is known of relations: counts in, rows of every part of a query graph out; uses
`adaptive.graph`."""
