"""Choose the language of worker pages: the study's language if it is translated.

Languages come with Turnwise as catalogs in locale/, or are translated in the product (`turnwise.languages`).
"""

from collections.abc import Callable, Iterator

from django.http import HttpRequest
from django.utils.translation import get_language
from django.utils.translation.trans_real import get_supported_language_variant, parse_accept_lang_header

from turnwise.languages.live_texts import live_language, refresh_async
from turnwise.studies.models import Study

ENGLISH = "en"


def catalog_of(code: str) -> str:
    """Catalog to use for a language code; "" if there is none.

    A language that is translated in the product comes before the general form of one that comes with
    Turnwise: es-MX before es.
    """
    if code.lower() in ("", ENGLISH):
        return code.lower()
    written = live_language(code)
    found = written.catalog if written else shipped_catalog_of(code)
    if not found and (general := live_language(code.split("-")[0])):
        return general.catalog
    return found


async def socket_language(code: str) -> str:
    """Language of a socket whose page is in this language."""
    if code.lower() not in ("", ENGLISH):
        await refresh_async()
    return catalog_of(code) or ENGLISH


def shipped_catalog_of(code: str) -> str:
    """Catalog in locale/ for a language code; "" if there is none."""
    try:
        return get_supported_language_variant(code)
    except LookupError:
        return ""


def language_of_pages(study: Study | None, request: HttpRequest | None = None) -> str:
    """Language of a study's pages: its only language, or else the browser's preference among them."""
    offered = [catalog_of(code) for code in study.languages if catalog_of(code)] if study else []
    if len(offered) == 1:
        return offered[0]
    # Without a study only catalogs count: others may be incomplete, and PostgreSQL may be down.
    find = catalog_of if study else shipped_catalog_of
    preferred = _preferred(request, find) if request else iter(())
    match = next((code for code in preferred if not study or code in offered), "")
    return match or (offered[0] if offered else ENGLISH)


def language_of_visitor(request: HttpRequest) -> str:
    """Language of an error page without a study: the browser's for workers, English for staff."""
    return language_of_pages(None, request) if request.path.startswith("/s/") else ENGLISH


def language_of_questions(study: Study) -> str:
    """Language of the study's questions: its only language, or else the page's."""
    return study.only_language or get_language() or ENGLISH


def _preferred(request: HttpRequest, find: Callable[[str], str]) -> Iterator[str]:
    for code, _ in parse_accept_lang_header(request.headers.get("Accept-Language", "")):
        if code != "*" and find(code):
            yield find(code)
