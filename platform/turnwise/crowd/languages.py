"""Choose the language of worker pages: the study's language if locale/ has a catalog for it."""

from collections.abc import Iterator

from django.http import HttpRequest
from django.utils.translation import get_language
from django.utils.translation.trans_real import get_supported_language_variant, parse_accept_lang_header

from turnwise.studies.models import Study

ENGLISH = "en"


def catalog_of(code: str) -> str:
    """Catalog to use for a language code; "" if there is none."""
    try:
        return get_supported_language_variant(code)
    except LookupError:
        return ""


def language_of_pages(study: Study | None, request: HttpRequest | None = None) -> str:
    """Language of a study's pages: its only language, or else the browser's preference among them."""
    offered = [catalog_of(code) for code in study.languages if catalog_of(code)] if study else []
    if len(offered) == 1:
        return offered[0]
    preferred = _preferred(request) if request else iter(())
    match = next((code for code in preferred if not study or code in offered), "")
    return match or (offered[0] if offered else ENGLISH)


def language_of_visitor(request: HttpRequest) -> str:
    """Language of an error page without a study: the browser's for workers, English for staff."""
    return language_of_pages(None, request) if request.path.startswith("/s/") else ENGLISH


def language_of_questions(study: Study) -> str:
    """Language of the study's questions: its only language, or else the page's."""
    return study.only_language or get_language() or ENGLISH


def _preferred(request: HttpRequest) -> Iterator[str]:
    for code, _ in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        if code != "*" and catalog_of(code):
            yield catalog_of(code)
