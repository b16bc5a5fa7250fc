"""Static data as rdflib sees them: triple patterns and SPARQL in, rdflib's terms out, as the data are then."""
