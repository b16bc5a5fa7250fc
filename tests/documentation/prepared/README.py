"""Who is known."""

from pathlib import Path

Path("people.ttl").write_text(
    '<http://example.org/ann> <http://xmlns.com/foaf/0.1/name> "Ann" .', encoding="utf-8"
)
