"""An engine served by HTTP: requests of queries, streams and data in, answers as events, metrics and problems out."""
