"""Names of static files that carry a hash; without Django, as the settings import it."""

import re
from wsgiref.headers import Headers

HASHED = re.compile(r"\.[0-9a-f]{12}\.\w+$")
"""Ending of a hashed file's name. `deploy/nginx.conf.template` has the same pattern."""
YEAR_SECONDS = 365 * 24 * 3600


def add_cache_header(headers: Headers, path: str, url: str) -> None:
    """Let browsers keep hashed files for a year without asking again."""
    if HASHED.search(url):
        headers["Cache-Control"] = f"public, max-age={YEAR_SECONDS}, immutable"
