"""Any other panel, set up by an ID parameter, an optional signature and a return address."""

import hashlib
import hmac
import re
from typing import ClassVar
from urllib.parse import urlsplit

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from typing_extensions import override

from turnwise.crowd import refusals
from turnwise.crowd.models import Outcome, StudyPanel
from turnwise.crowd.panels.base import (
    Arrival,
    Panel,
    ReturnPath,
    fill_placeholders,
    id_in,
    shortened,
    single_value,
    with_query,
)

SIGNATURE = "signature"
SESSION = "session"
SHORTEST_SECRET = 16
PLACEHOLDERS = ("id", "session", "outcome", "code")
_PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,29}")


class AnyAddress(Panel):
    """Any other panel: an ID in the link, optionally signed, and a return address or a code at the end."""

    key = "url"
    title = gettext_lazy("Another panel")
    brings = gettext_lazy("People of any other recruiting service.")
    about = gettext_lazy(
        "For any panel that puts an id of the person into the link. With a secret, links without the right "
        "signature are refused: the HMAC-SHA256 of CODE:ID (CODE:ID:SESSION where the link has a session) "
        "in hexadecimal; CODE is what follows /s/ in the link."
    )
    order = 4
    asks_for = ("parameter", "secret", "return_url")
    outcomes: ClassVar = tuple(Outcome)

    @override
    def parameter(self, setup: StudyPanel) -> str:
        return setup.parameter

    @override
    def link(self, entry: str, setup: StudyPanel) -> str:
        signed = f"&{SIGNATURE}=SIGNATURE" if setup.secret else ""
        return with_query(entry, f"{setup.parameter}=ID&{SESSION}=SESSION{signed}")

    @override
    def for_workers(self, setup: StudyPanel) -> str:
        return _host_of(setup.return_url) or _("your panel")

    @override
    def arrival(self, query: QueryDict, setup: StudyPanel) -> Arrival:
        worker, session = id_in(query, setup.parameter), id_in(query, SESSION, needed=False)
        if setup.secret:
            given = single_value(query, SIGNATURE)
            if not given:
                raise refusals.not_signed()
            expected = signature(setup.secret, setup.study.code, worker, session)
            if not hmac.compare_digest(given.lower().encode(), expected.encode()):
                raise refusals.wrongly_signed()
        return Arrival(f"{self.key}:{setup.parameter}", worker, session, {}, setup.pk)

    @override
    def return_path(self, arrival: Arrival, setup: StudyPanel, outcome: Outcome, own_code: str) -> ReturnPath:
        code = setup.code_of(outcome) or (own_code if outcome == Outcome.COMPLETE or not setup.codes else "")
        if not setup.return_url:
            return ReturnPath(code=code, do="" if code else _("Please return the task to your panel."))
        values = {
            "id": arrival.worker, "session": arrival.submission, "outcome": outcome.value, "code": code,
        }  # fmt: skip
        return ReturnPath(_host_of(setup.return_url), fill_placeholders(setup.return_url, values), code=code)

    @override
    def problems(self, setup: StudyPanel) -> dict[str, str]:
        by_field = super().problems(setup)
        if not _PARAMETER.fullmatch(setup.parameter):
            by_field["parameter"] = _(
                "“%(value)s” cannot be the name of a parameter. Use letters, digits, _ and -, beginning "
                "with a letter, such as: pid"
            ) % {"value": shortened(setup.parameter)}
        elif setup.parameter in (SIGNATURE, SESSION):
            by_field["parameter"] = _("“%(value)s” means something else in links. Use another name.") % {
                "value": setup.parameter
            }
        if setup.secret and len(setup.secret) < SHORTEST_SECRET:
            by_field["secret"] = _(
                "A secret of %(n)d characters can be guessed. Use at least %(most)d, or leave it empty."
            ) % {"n": len(setup.secret), "most": SHORTEST_SECRET}
        if problem := _problem_of(setup.return_url):
            by_field["return_url"] = problem
        return by_field


def signature(secret: str, code: str, worker: str, session: str = "") -> str:
    """Compute the signature of a link: HMAC-SHA256 in hexadecimal.

    Args:
        secret: secret shared with the panel.
        code: code of the study, as in its link.
        worker: the panel's ID of the worker.
        session: the panel's ID of the visit; empty if there is none.
    """
    message = ":".join([code, worker, *([session] if session else [])])
    return hmac.new(secret.encode(), message.encode(), hashlib.sha256).hexdigest()


def _host_of(template: str) -> str:
    """Host name of the return address, shown to workers; empty if there is none."""
    return urlsplit(template).hostname or ""


def _problem_of(template: str) -> str:
    """Problem of a return address, as a sentence; empty if it is valid."""
    if not template:
        return ""
    try:
        parts = urlsplit(template)
        is_address = parts.scheme == "https" and bool(parts.hostname)
    except ValueError:
        is_address = False
    if not is_address or re.search(r"[\s<>\"\\]", template) or "{" in parts.netloc:
        return _("“%(value)s” is not an address that begins with https://") % {"value": shortened(template)}
    for name in re.findall(r"\{(.*?)\}", template):
        if name not in PLACEHOLDERS:
            return _("{%(name)s} is none of {id}, {session}, {outcome} and {code}.") % {
                "name": shortened(name)
            }
    return ""
