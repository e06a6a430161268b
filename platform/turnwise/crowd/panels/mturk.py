"""Panel Amazon Mechanical Turk."""

from urllib.parse import urlsplit

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from typing_extensions import override

from turnwise.crowd import refusals
from turnwise.crowd.models import Outcome, StudyPanel
from turnwise.crowd.panels.base import Arrival, Panel, ReturnPath, id_in, shortened, single_value

NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"
HOSTS = ("www.mturk.com", "workersandbox.mturk.com")
SUBMIT = "/mturk/externalSubmit"
SUBMITTED = frozenset(
    {Outcome.COMPLETE, Outcome.BOT_FAILED, Outcome.PARTNER_LEFT, Outcome.NO_PARTNER, Outcome.TIMED_OUT}
)


class MTurk(Panel):
    """Amazon Mechanical Turk's ExternalQuestion: a preview, and a form that is sent to Amazon at the end."""

    key = "mturk"
    title = "Mechanical Turk"
    brings = gettext_lazy("Paid crowd workers of Amazon.")
    about = gettext_lazy(
        "Use the link below as the ExternalURL of an ExternalQuestion. Amazon adds the ids, shows a preview "
        "first, and takes a form at the end. The code in it can be looked up under Participants."
    )
    order = 3
    parameters = ("workerId", "assignmentId", "hitId", "turkSubmitTo")

    @override
    def link(self, entry: str, setup: StudyPanel) -> str:
        return entry

    @override
    def is_preview(self, query: QueryDict) -> bool:
        return query.get("assignmentId") == NOT_ACCEPTED

    @override
    def arrival(self, query: QueryDict, setup: StudyPanel) -> Arrival:
        back = {"submit_to": _submit_to(single_value(query, "turkSubmitTo")), "hit": id_in(query, "hitId")}
        return Arrival(self.key, id_in(query, "workerId"), id_in(query, "assignmentId"), back, setup.pk)

    @override
    def return_path(self, arrival: Arrival, setup: StudyPanel, outcome: Outcome, own_code: str) -> ReturnPath:
        if outcome not in SUBMITTED or not own_code:
            return ReturnPath(self.title, do=_("Please return the HIT on Mechanical Turk."))
        fields = {"assignmentId": arrival.submission, "outcome": outcome.value, "completionCode": own_code}
        return ReturnPath(self.title, arrival.panel_values["submit_to"] + SUBMIT, fields, own_code)


def _submit_to(address: str) -> str:
    """Check that the address named in a link is one of Amazon's servers, and return its origin.

    Raises:
        EntryRefusedError: the address is missing or belongs to another server.
    """
    if not address:
        raise refusals.malformed_link(_("Its “%(name)s” is empty.") % {"name": "turkSubmitTo"})
    try:
        parts = urlsplit(address)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme != "https" or parts.netloc not in HOSTS:
        raise refusals.malformed_link(
            _("Its “turkSubmitTo” is “%(value)s”, which is not a Mechanical Turk address.")
            % {"value": shortened(address)}
        )
    return f"https://{parts.netloc}"


FRAMED_BY = "https://*.mturk.com"
"""Sites of Amazon that may frame the first page."""
