from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.db.models import QuerySet
from typing_extensions import override

from evaluation.protocols.facts import Evaluation
from evaluation.questions import QuestionSet
from evaluation.questions.topical_chat import TOPICAL_CHAT_OWN
from evaluation.report.columns import Table
from evaluation.report.study import study_result
from evaluation.report.tables import EXCHANGES, tables
from turnwise.exports.turns import LABELLED_TURNS
from turnwise.labels.models import Label
from turnwise.labels.queries import given_to
from turnwise.reports import measuring, queries
from turnwise.reports.reported import Computation, ReportedTask
from turnwise.studies.asks import UNDER_EACH_REPLY, About, By
from turnwise.studies.models import Study


class TalkTask(ReportedTask):
    """A task whose workers talk, with a bot or with each other, and judge what is said."""

    has_conversations = True
    asks = (UNDER_EACH_REPLY,)
    may_ask = frozenset((By.TALKERS, about) for about in (About.PARTNER_TURN, About.OWN_TURN, About.DIALOGUE))

    evaluation = Evaluation.INTERACTIVE
    labels_exported = LABELLED_TURNS
    statements = {EXCHANGES.name: measuring.ROWS}
    read_at = "labels:dialogues"
    read = "conversations"

    @staticmethod
    def fits_topical_chat(study: Study) -> bool:
        """Whether it asks what the files of Topical-Chat tell."""
        return any(ask.question_set == TOPICAL_CHAT_OWN.key for ask in study.asked)

    @override
    def prepare(self, study: Study) -> None:
        measuring.measure(study)

    @override
    def described(self, study: Study) -> Mapping[str, Any]:
        is_measured = measuring.is_measured(study)
        return {"measured_by": measuring.measured_by(study)} if is_measured else {}

    @override
    def computation(self, study: Study) -> Computation:
        return partial(study_result, queries.study_data(study))

    @override
    def labels(self, study: Study) -> QuerySet[Label]:
        # Each by its own index: either condition alone is quick, both in one read every label there is.
        of_turns, whole = (
            Label.objects.filter(**{path: study}).order_by().values("pk")
            for path in ("turn__dialogue__study", "dialogue__study")
        )
        return Label.objects.filter(given_to(study.pk), pk__in=of_turns.union(whole, all=True))

    @override
    def tables(self, asked: Sequence[QuestionSet]) -> tuple[Table, ...]:
        return tables(asked)
