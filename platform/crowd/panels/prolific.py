from typing import ClassVar

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from typing_extensions import override

from crowd.models import StudyPanel
from crowd.panels.base import Arrival, Outcome, Panel, WayBack, filled, id_in, with_query

COMPLETIONS = "https://app.prolific.com/submissions/complete?cc={code}"
PLACEHOLDERS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"


class Prolific(Panel):
    """Prolific: ids in the link, and at the end its completion address with a code for each outcome."""

    key = "prolific"
    title = "Prolific"
    about = gettext_lazy(
        "Give Prolific the link below as the URL of the study, with the option “URL parameters”, and set up "
        "one completion path there for each code."
    )
    place = 2
    parameters = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    outcomes: ClassVar = tuple(Outcome)
    needed: ClassVar = (Outcome.COMPLETE,)

    @override
    def link(self, entry: str, taken: StudyPanel) -> str:
        return with_query(entry, PLACEHOLDERS)

    @override
    def arrival(self, query: QueryDict, taken: StudyPanel) -> Arrival:
        return Arrival(
            self.key,
            id_in(query, "PROLIFIC_PID"),
            id_in(query, "SESSION_ID", needed=False),
            {"study": id_in(query, "STUDY_ID", needed=False)},
            taken.pk,
        )

    @override
    def way_back(self, arrival: Arrival, taken: StudyPanel, outcome: Outcome, own_code: str) -> WayBack:
        if code := taken.code_of(outcome):
            return WayBack(self.title, filled(COMPLETIONS, {"code": code}))
        return WayBack(self.title, do=_("Please return your submission on Prolific."))
