"""Filters, orders and ticked rows of the lists that staff work through, such as *Participants*."""

from collections.abc import Container, Iterable

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode

MOST_TICKED = 500
"""Most rows of one action; a page of a list has fewer."""


def query_choice(query: QueryDict, name: str, choices: Container[str], default: str = "") -> str:
    """The key that the address names; the default if it names none of the choices."""
    value = query.get(name, "")
    return value if value in choices else default


def sought_text(query: QueryDict) -> str:
    """The text to look for, shortened."""
    return query.get("find", "").strip()[:120]


def ticked_keys(sent: Iterable[str]) -> list[int]:
    """Keys of ticked rows; what is not a key is ignored."""
    return [int(key) for key in sent if key.isascii() and key.isdecimal() and len(key) < 19]


def back_to_list(request: HttpRequest, view: str, study_id: int, names: Iterable[str]) -> HttpResponse:
    """Redirect to a list with the filters, order and page that the form was sent from.

    Args:
        request: the sent form; its field `query` has the query string of the list.
        view: URL name of the list.
        study_id: key of the list's study.
        names: parameters of the query string to keep.
    """
    sent = QueryDict(request.POST.get("query", "")[:1000])
    filters = {name: sent[name] for name in names if name in sent}
    address = reverse(view, args=[study_id])
    return redirect(f"{address}?{urlencode(filters)}" if filters else address)
