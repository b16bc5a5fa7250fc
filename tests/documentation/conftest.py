"""What prepares a page runs in the page's namespace, and is no module with doctests."""

from __future__ import annotations

collect_ignore_glob = ["prepared/*.py"]
