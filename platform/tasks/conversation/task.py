from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import Q, QuerySet
from typing_extensions import override

from bots.models import Bot
from crowd.queries import finished_and_wanted, progress
from crowd.services import places_taken
from crowd.work import WorkerTask
from dialogues import reading
from dialogues.queries import from_elsewhere
from evaluation.protocols.facts import Evaluation
from evaluation.questions import LIKERT, VOTES, QuestionSet
from evaluation.report.study import study_result
from evaluation.report.tables import EXCHANGES, Table, tables
from exports.turns import LABELLED_TURNS
from labels.models import Label
from labels.queries import OF_PEOPLE
from rehearsals.rehearsed import Crowd, RehearsedTask
from rehearsals.services import copied
from reports import measuring, queries
from reports.reported import Computation, ReportedTask
from studies.asks import UNDER_EACH_REPLY, About, By
from studies.models import Speaker, Study
from studies.tasks import register
from tasks.conversation import rehearsal
from tasks.conversation.forms import ConversationPage


@register
class Conversation(WorkerTask, ReportedTask, RehearsedTask):
    """Workers talk with a chatbot and judge its replies."""

    key = "conversation"
    title = "Talk with a chatbot and judge its replies"
    menu = "Talk with chatbots"
    place = 1
    form = ConversationPage
    overview = "tasks/conversation/overview.html"
    has_conversations = True
    asks = (UNDER_EACH_REPLY,)
    may_ask = frozenset((By.TALKERS, about) for about in (About.PARTNER_TURN, About.OWN_TURN, About.DIALOGUE))

    begin = "conversation:start"
    go_on = "conversation:chat"
    heading = "Talk with a chatbot, and judge what it says"
    welcome = "tasks/conversation/welcome.html"
    instructions = "tasks/conversation/instructions.html"
    saved = "Your conversation and all your answers are saved."

    evaluation = Evaluation.INTERACTIVE
    report = "tasks/conversation/report.html"
    labels_exported = LABELLED_TURNS
    statements = {EXCHANGES.name: measuring.ROWS}
    read_at = "labels:dialogues"
    read = "conversations"

    @override
    def why_not_open(self, study: Study) -> str:
        bots = study.study_bots.filter(target__gt=0, bot__active=True)
        if wanted := sum(bots.values_list("target", flat=True)):
            return reading.why_too_few(study, wanted)
        return "Choose at least one active bot with a target above zero, then open the study."

    @override
    def bots_to_try(self, study: Study) -> list[Bot]:
        wanted = study.study_bots.filter(target__gt=0, bot__active=True).select_related("bot")
        return [each.bot for each in wanted]

    @override
    def is_blind(self, study: Study) -> bool:
        return study.blind

    @override
    def finished_and_wanted(self, studies: QuerySet[Study]) -> Mapping[int, tuple[int, int]]:
        return finished_and_wanted(studies)

    @override
    def shown(self, study: Study) -> Mapping[str, Any]:
        asked = {ask.question_set for ask in study.asked}
        return {
            "bots": progress(study),
            "from_elsewhere": from_elsewhere(study),
            "fits_neural_chat": bool(asked & {LIKERT.key, VOTES.key}),
        }

    @override
    def is_full(self, study: Study, now: datetime) -> bool:
        if reading.is_used_up(study):
            return True
        bots = study.study_bots.filter(bot__active=True)
        taken = places_taken([bot.pk for bot in bots], now)
        return all(taken[bot.pk] >= bot.target for bot in bots)

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
        held_here = Q(turn__dialogue__study=study) | Q(dialogue__study=study)
        return Label.objects.filter(OF_PEOPLE, held_here)

    @override
    def tables(self, asked: Sequence[QuestionSet]) -> tuple[Table, ...]:
        return tables(asked)

    @override
    def protocol(self, study: Study) -> Mapping[str, str]:
        return {
            "Opening": _opening(study),
            "Turns": f"{study.min_turns} to {study.max_turns}",
            "Asked": "; ".join(map(str, study.asked)),
            "Names of the bots": "hidden" if study.blind else "shown",
        }

    @override
    def copied(self, study: Study, workers: int) -> Study:
        return copied(study, rehearsal.targets(study, workers))

    @override
    def crowd(self, rehearsed: Study, server: str, workers: int) -> Crowd:
        return rehearsal.chatters(rehearsed, server, workers)


def _opening(study: Study) -> str:
    who = "the chatbot" if study.opening_speaker == Speaker.BOT else "the worker"
    return f"{who}, with “{study.opening_text}”" if study.opening_text else f"{who}, in their own words"
