"""Which question set's scores are put beside other measures and followed over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from comparisons.scores import Asked
from evaluation.protocols import protocols
from evaluation.questions import HUMAN_LIKENESS, QuestionSet, Score
from evaluation.report.figures import columns_of
from questions.resolving import question_set, question_sets, titled
from studies.asks import About
from studies.models import Ask, Study
from studies.queries import readable_real_studies_of

PAPER = {name: protocols()[f"meena-{name}"] for name in ("interactive", "static")}
PUBLISHED = PAPER["interactive"].question_sets[0]
"""The set whose scores a paper put beside perplexity and human-likeness."""

# A page puts no more scores of one set beside something else; a study's own report has all.
MOST_SCORES = 6
MOST_SETS = 200
# What one bot said is judged; votes on pairs say nothing of one alone.
_OF_ONE = (About.PARTNER_TURN, About.DIALOGUE, About.RESPONSE)


@dataclass(frozen=True, slots=True)
class Measured:
    """A question set by whose scores bots are compared."""

    questions: QuestionSet

    @property
    def key(self) -> str:
        return self.questions.key

    @property
    def title(self) -> str:
        return titled(self.questions)

    @property
    def asked(self) -> Asked:
        return Asked(self.questions)

    @property
    def main(self) -> Score:
        main = self.questions.main_score
        assert main  # sets without a score are not offered
        return main

    @property
    def titles(self) -> Mapping[str, str]:
        """By key, the titles of its scores, the main one first."""
        ordered = sorted(self.questions.scores, key=lambda each: each != self.main)
        return {score.key: score.title for score in ordered[:MOST_SCORES]}

    @property
    def together(self) -> Mapping[str, str]:
        """Those of them, in their own order, that share the main score's scale."""
        shown, scale = self.titles, self.ends(self.main.key)
        return {
            score.key: score.title
            for score in self.questions.scores
            if score.key in shown
            and self.ends(score.key) == scale
            and score.is_percent == self.main.is_percent
        }

    def ends(self, score: str) -> tuple[float, float]:
        """The lowest and the highest that a score can be, as shown."""
        column = next(each for each in columns_of(self.questions) if each["key"] == score)
        return column["low"], column["high"]

    def is_percent(self, score: str) -> bool:
        return self.questions.score(score).is_percent


HUMAN_LIKE = Measured(HUMAN_LIKENESS)


def offered_to(user: User | AnonymousUser, *, studies: Sequence[Study] | None = None) -> list[Measured]:
    """The sets by which this person can compare: those of their studies that judge one bot at a time.

    Args:
        user: who looks.
        studies: only of these.
    """
    opened = readable_real_studies_of(user).exclude(state=Study.State.DRAFT)
    asks = Ask.objects.filter(about__in=_OF_ONE, study__in=opened if studies is None else studies)
    keys = asks.order_by("question_set").values_list("question_set", flat=True).distinct()
    found = sorted(
        (Measured(each) for each in question_sets(keys) if each.main_score),
        key=lambda each: (each.key != PUBLISHED, each.title),
    )
    return found[:MOST_SETS]


def chosen(offered: Sequence[Measured], key: str) -> Measured:
    """The one with this key; else the first on offer, or the published one if there is none."""
    found = next((each for each in offered if each.key == key), None)
    return found or (offered[0] if offered else Measured(question_set(PUBLISHED)))
