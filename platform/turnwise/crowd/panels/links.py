"""Panels without a service: the open link, and personal invitations."""

import hashlib

from django.db.models import Q
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from typing_extensions import override

from turnwise.crowd import refusals
from turnwise.crowd.models import Invitation, Outcome, StudyPanel
from turnwise.crowd.panels.base import Arrival, Panel, ReturnPath, single_value


class OpenLink(Panel):
    """Anyone who has the link; each worker gets a completion code at the end."""

    key = "open"
    title = gettext_lazy("Open link")
    brings = gettext_lazy("Anyone who has the link: crowd workers, a class, a lab.")
    about = gettext_lazy(
        "For a class, a lab, friends. Nothing stops somebody from taking part again in another browser."
    )
    order = 1
    is_paid = False

    @override
    def link(self, entry: str, setup: StudyPanel) -> str:
        return entry

    @override
    def arrival(self, query: QueryDict, setup: StudyPanel) -> Arrival:
        return Arrival("", "", entered_by=setup.pk)

    @override
    def return_path(self, arrival: Arrival, setup: StudyPanel, outcome: Outcome, own_code: str) -> ReturnPath:
        return ReturnPath(code=own_code)


PARAMETER = "invitation"


def digest_of(secret: str) -> str:
    """Hash of the secret in a personal link, as it is stored."""
    return hashlib.sha256(secret.encode()).hexdigest()


def invitation_key(panel: str, panel_id: str) -> int:
    """Key of the invitation by which a worker came; 0 if it was none."""
    key = panel_id.rpartition("-")[2] if panel == Invited.key else ""
    return int(key) if key.isdecimal() else 0


class Invited(Panel):
    """People on the researcher's list: each has a personal link, which admits one person, once."""

    key = "invited"
    title = gettext_lazy("Invited people")
    brings = gettext_lazy("Experts or others on your list, each with a link of their own.")
    about = gettext_lazy("Everybody on your list has a link of their own, which lets in one person, once.")
    order = 5
    is_paid = False
    parameters = (PARAMETER,)

    @override
    def link(self, entry: str, setup: StudyPanel) -> str:
        return ""

    @override
    def for_workers(self, setup: StudyPanel) -> str:
        return _("the link in your invitation")

    @override
    def refusal_of_arrivals(self) -> refusals.EntryRefusedError:
        return refusals.not_invited()

    @override
    def arrival(self, query: QueryDict, setup: StudyPanel) -> Arrival:
        token = single_value(query, PARAMETER)
        secret = Q(token=token[:100]) | Q(digest=digest_of(token[:100]))
        valid = Invitation.objects.filter(study=setup.study_id, revoked_at=None, is_adjudicator=False)
        invitation = valid.filter(secret).first()
        if invitation is None:
            raise refusals.not_invited()
        return Arrival(self.key, invitation.panel_id, entered_by=setup.pk)

    @override
    def return_path(self, arrival: Arrival, setup: StudyPanel, outcome: Outcome, own_code: str) -> ReturnPath:
        # No page sent them here that could take the code.
        do = _("Keep this code, in case the researchers ask for it.") if own_code else ""
        return ReturnPath(code=own_code, do=do)
