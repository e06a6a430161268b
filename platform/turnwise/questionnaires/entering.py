"""Before and after somebody's work: whether they are asked something about themselves."""

from typing_extensions import override

from turnwise.crowd import gates
from turnwise.crowd.models import Participation
from turnwise.questionnaires.services import due
from turnwise.studies.asks import Moment


class QuestionnaireGate(gates.Gate):
    """Who is asked before they begin answers first; who is asked afterwards, before their last page."""

    @override
    def first(self, participation: Participation) -> str:
        return "questionnaires:before" if due(participation, Moment.BEFORE_WORK) else ""

    @override
    def last(self, participation: Participation) -> str:
        return "questionnaires:after" if due(participation, Moment.AFTER_WORK) else ""


gates.register(QuestionnaireGate())
