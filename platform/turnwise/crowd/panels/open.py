from django.http import QueryDict
from django.utils.translation import gettext_lazy
from typing_extensions import override

from turnwise.crowd.models import Outcome, StudyPanel
from turnwise.crowd.panels.base import Arrival, Panel, WayBack


class OpenLink(Panel):
    """Whoever has the link; at the end a code of their own."""

    key = "open"
    title = gettext_lazy("Open link")
    about = gettext_lazy(
        "For a class, a lab, friends. Nothing stops somebody from taking part again in another browser."
    )
    order = 1

    @override
    def link(self, entry: str, taken: StudyPanel) -> str:
        return entry

    @override
    def arrival(self, query: QueryDict, taken: StudyPanel) -> Arrival:
        return Arrival("", "", entered_by=taken.pk)

    @override
    def way_back(self, arrival: Arrival, taken: StudyPanel, outcome: Outcome, own_code: str) -> WayBack:
        return WayBack(code=own_code)
