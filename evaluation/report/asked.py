"""What a study asks beside the questions that its report begins with. Pure."""

from dataclasses import dataclass
from typing import Any

from evaluation.questions import QuestionSet
from evaluation.report.analysis import AnalysisPlan
from evaluation.report.figures import study_figures
from evaluation.report.intervals import Terms
from evaluation.report.judged import Judged

WHOLE = "dialogue"
"""What an ask about the whole conversation is about."""


@dataclass(frozen=True, eq=False)
class AskData:
    """One ask with its answers.

    Attributes:
        about: `own_turn`, `partner_turn` or `dialogue`, as seen from who was asked.
        required: whether a conversation could not be finished without it.
        questions: what was asked.
        judged: the labels of finished conversations; of whole ones, each counts as a reply.
    """

    about: str
    required: bool
    questions: QuestionSet
    judged: Judged


def ask_figures(ask: AskData, plan: AnalysisPlan, terms: Terms) -> dict[str, Any]:
    """The figures of one ask.

    Args:
        ask: with its answers.
        plan: which analysis they are of.
        terms: the level of its intervals, and a margin of equivalence by its main score, if there is one.
    """
    result = study_figures(ask.questions, ask.judged, plan=plan, terms=terms)
    if ask.about == WHOLE:
        for part, _ in plan.parts(result, ask.judged):
            part["by_reply"] = []  # a whole conversation has no course
    return result | {"about": ask.about, "required": ask.required, "title": ask.questions.title}
