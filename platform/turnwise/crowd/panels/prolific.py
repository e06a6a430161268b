"""Panel Prolific."""

from typing import ClassVar

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from typing_extensions import override

from turnwise.crowd.models import Outcome, StudyPanel
from turnwise.crowd.panels.base import (
    ID,
    Arrival,
    Panel,
    ReturnPath,
    fill_placeholders,
    id_in,
    shortened,
    with_query,
)
from turnwise.crowd.panels.prolific_api import PREFIX, VARIABLE, NoTokenError, api_account

COMPLETIONS = "https://app.prolific.com/submissions/complete?cc={code}"
PLACEHOLDERS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"


class Prolific(Panel):
    """Prolific: IDs in the link, and at the end its completion address with a code for each outcome."""

    key = "prolific"
    title = "Prolific"
    about = gettext_lazy(
        "Give Prolific the link below as the URL of the study, with the option “URL parameters”, and set up "
        "one completion path there for each code."
    )
    order = 2
    parameters = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    outcomes: ClassVar = tuple(Outcome)
    needed: ClassVar = (Outcome.COMPLETE,)
    asks_for: ClassVar = ("token", "their_study")

    @override
    def link(self, entry: str, setup: StudyPanel) -> str:
        return with_query(entry, PLACEHOLDERS)

    @override
    def arrival(self, query: QueryDict, setup: StudyPanel) -> Arrival:
        return Arrival(
            self.key,
            id_in(query, "PROLIFIC_PID"),
            id_in(query, "SESSION_ID", needed=False),
            {"study": id_in(query, "STUDY_ID", needed=False)},
            setup.pk,
        )

    @override
    def return_path(self, arrival: Arrival, setup: StudyPanel, outcome: Outcome, own_code: str) -> ReturnPath:
        if code := setup.code_of(outcome):
            return ReturnPath(self.title, fill_placeholders(COMPLETIONS, {"code": code}), code=code)
        return ReturnPath(self.title, do=_("Please return your submission on Prolific."))

    @override
    def problems(self, setup: StudyPanel) -> dict[str, str]:
        found = super().problems(setup)
        if setup.their_study and not ID.fullmatch(setup.their_study):
            found["their_study"] = _("“%(value)s” is not an id. Copy it from the study's address there.") % {
                "value": shortened(setup.their_study)
            }
        if setup.token:
            if not setup.their_study:
                found["their_study"] = _("The API needs it. Copy it from the study's address at Prolific.")
            if not VARIABLE.fullmatch(setup.token):
                found["token"] = _(
                    "Write the name of a variable that begins with %(prefix)s, never the token itself."
                ) % {"prefix": PREFIX}
            else:
                try:
                    api_account(setup.token, setup.study.owner.get_username())
                except NoTokenError as error:
                    found["token"] = str(error)
        return found
