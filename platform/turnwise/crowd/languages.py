"""The language in which a worker meets Turnwise: the study's, where locale/ has a catalog of it."""

from collections.abc import Iterator

from django.http import HttpRequest
from django.utils.translation import get_language
from django.utils.translation.trans_real import get_supported_language_variant, parse_accept_lang_header

from turnwise.studies.models import Study

ENGLISH = "en"


def catalog_of(code: str) -> str:
    """The language of Turnwise in which people who speak this one are addressed; "" if there is none."""
    try:
        return get_supported_language_variant(code)
    except LookupError:
        return ""


def language_of_pages(study: Study | None, request: HttpRequest | None = None) -> str:
    """Of the pages of a study: its own language; of several, or of no study, what the browser prefers."""
    offered = [catalog_of(code) for code in study.languages if catalog_of(code)] if study else []
    if len(offered) == 1:
        return offered[0]
    preferred = _preferred(request) if request else iter(())
    found = next((code for code in preferred if not study or code in offered), "")
    return found or (offered[0] if offered else ENGLISH)


def language_of_visitor(request: HttpRequest) -> str:
    """Of a page that says what went wrong before any study was found: English but for workers."""
    return language_of_pages(None, request) if request.path.startswith("/s/") else ENGLISH


def language_of_questions(study: Study) -> str:
    """What the questions of the study are asked in: its only language, or that of the page."""
    return study.only_language or get_language() or ENGLISH


def _preferred(request: HttpRequest) -> Iterator[str]:
    for code, _ in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        if code != "*" and catalog_of(code):
            yield catalog_of(code)
