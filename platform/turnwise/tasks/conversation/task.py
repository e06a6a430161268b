"""The task *Talk with a chatbot and judge its replies*."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet, prefetch_related_objects
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from evaluation.questions import LIKERT, VOTES
from turnwise.bots.models import Bot
from turnwise.crowd.places.reservation import occupied_places
from turnwise.crowd.queries import conversation_counts, progress
from turnwise.crowd.worker_task import WorkerTask
from turnwise.dialogues import reading_material
from turnwise.dialogues.queries import outside_dialogue_counts
from turnwise.rehearsals.findings import ENOUGH_FOR_A_BOT
from turnwise.rehearsals.rehearsed_task import MOST_WORKERS, Crowd, RehearsedTask
from turnwise.rehearsals.services import copy_study
from turnwise.studies.conditions.factors import conditions_of, restricts, why_factors_unfit
from turnwise.studies.models import ReEntry, ReplyDisplay, Speaker, Study
from turnwise.studies.outlook import PlannedStudy, planned_conversations
from turnwise.studies.queries import active_bots_of, with_bots
from turnwise.studies.starting.intentions import Aim, Intention, Material
from turnwise.studies.tasks import Rows, register
from turnwise.tasks.conversation import rehearsal
from turnwise.tasks.conversation.preview import TalkPreviewed
from turnwise.tasks.conversation.talk_task import ConversationPage, TalkTask, pictures_line


@register
class Conversation(WorkerTask, TalkTask, RehearsedTask):
    """Workers talk with a chatbot and judge its replies."""

    key = "conversation"
    title = "Talk with a chatbot and judge its replies"
    menu = "Talk with chatbots"
    order = 1
    intentions = (
        Intention(Aim.QUALITY, Material.LIVE),
        Intention(Aim.BETTER, Material.LIVE),
        Intention(Aim.QUESTIONS, Material.LIVE),
    )
    form = ConversationPage
    overview = "tasks/conversation/overview.html"
    manual = "labelling"
    namespace = "conversation"

    can_recur = True
    takes_stopping_rule = True
    needs_bots = True
    begin = "conversation:start"
    go_on = "conversation:chat"
    heading = _("Talk with a chatbot, and judge what it says")
    welcome = "tasks/conversation/welcome.html"
    instructions = "tasks/conversation/instructions.html"
    saved = _("Your conversation and all your answers are saved.")
    previewed = TalkPreviewed

    report = "tasks/conversation/report.html"
    analysed = "tasks/conversation/analysed.html"

    @override
    def takes_bots(self, study: Study) -> bool:
        return True

    @override
    def why_not_open(self, study: Study) -> str:
        if unfit := why_factors_unfit(study):
            return unfit[0]
        if wanted := sum(active_bots_of(study).values_list("target", flat=True)):
            return reading_material.article_shortage(study, wanted)
        return "Choose at least one active bot with a target above zero, then open the study."

    @override
    def planned(
        self, study: Study | None, sent: Mapping[str, str], wanted: Sequence[int]
    ) -> PlannedStudy | None:
        return planned_conversations(wanted, together=self.together) if wanted else None

    @override
    def bots_to_try(self, study: Study) -> list[Bot]:
        return [each.bot for each in active_bots_of(study)]

    @override
    def is_blind(self, study: Study) -> bool:
        return study.blind

    @override
    def completed_and_planned(self, studies: QuerySet[Study]) -> Rows:
        return conversation_counts(studies)

    @override
    def overview_context(self, study: Study) -> Mapping[str, Any]:
        asked = {ask.question_set for ask in study.work_asks}
        return {
            "bots": progress(study),
            "from_elsewhere": outside_dialogue_counts(study),
            "fits_neural_chat": bool(asked & {LIKERT.key, VOTES.key}),
            "fits_topical_chat": self.fits_topical_chat(study),
        }

    @override
    def is_full(self, study: Study, now: datetime) -> bool:
        if reading_material.is_used_up(study):
            return True
        with_target = study.study_bots.filter(target__gt=0)
        # Bots that are switched off get no new workers. If all are off, the study is not full, only paused.
        bots = with_target.filter(bot__active=True) or with_target
        occupied = occupied_places(bots, now)
        return all(occupied[bot.pk] >= bot.target for bot in bots)

    @override
    def protocol(self, study: Study) -> Mapping[str, str]:
        prefetch_related_objects([study], with_bots())  # no query if they are already loaded for many studies
        operated = [each.bot.title for each in study.study_bots.all() if each.bot.is_operated]
        people = {"Human operator": f"answered in place of {', '.join(operated)}"} if operated else {}
        return people | {
            "Opening": _opening(study),
            "Turns": f"{study.min_turns} to {study.max_turns}",
            "Asked": "; ".join(map(str, study.work_asks)),
            "Names of the bots": "hidden" if study.blind else "shown",
            **_reply_display(study),
            **_reply_versions(study),
            **pictures_line(study),
            **_scenarios(study),
            **_conditions(study),
            **_re_entry(study),
        }

    @override
    def enough_workers(self, study: Study) -> int:
        cells = len(list(conditions_of(study.factors)))
        bots = 1 if restricts(study.factors, "bots") else active_bots_of(study).count()
        enough = max(super().enough_workers(study), ENOUGH_FOR_A_BOT * bots * cells)
        return min(enough, MOST_WORKERS)

    @override
    def copied(self, study: Study, workers: int) -> Study:
        return copy_study(study, rehearsal.targets(study, workers))

    @override
    def crowd(self, rehearsed: Study, server: str, workers: int) -> Crowd:
        return rehearsal.chatting_crowd(rehearsed, server, workers)


def _reply_display(study: Study) -> dict[str, str]:
    """Protocol line on the display of replies; empty if each is shown once it is complete."""
    if study.reply_display == ReplyDisplay.WHEN_DONE:
        return {}
    how = str(study.get_reply_display_display())
    if study.reply_display == ReplyDisplay.FIXED_PACE:
        how += f", {study.reply_pace} characters per second"
    return {"Replies appear": f"{how}; workers can stop them" if study.may_stop_replies else how}


def _reply_versions(study: Study) -> dict[str, str]:
    """Protocol line on choosing among replies; empty if each message is answered once."""
    if study.max_reply_versions == 1:
        return {}
    return {"Replies to a message": f"workers may ask for up to {study.max_reply_versions} and keep one"}


def _re_entry(study: Study) -> Mapping[str, str]:
    """Protocol line on repeated participation; empty if each person takes part once."""
    often = {
        ReEntry.PER_BOT: "up to once with each bot",
        ReEntry.UP_TO: f"up to {study.re_entry_most} times",
    }.get(ReEntry(study.re_entry))
    return {"Taking part": f"each person {often}; all of a person's labels are one rater's"} if often else {}


def _opening(study: Study) -> str:
    who = "the chatbot" if study.opening_speaker == Speaker.BOT else "the worker"
    return f"{who}, with “{study.opening_text}”" if study.opening_text else f"{who}, in their own words"


def _scenarios(study: Study) -> dict[str, str]:
    if not study.scenarios:
        return {}
    return {"Scenarios": f"{len(study.scenarios)}, dealt so that each comes equally often with each bot"}


def _conditions(study: Study) -> dict[str, str]:
    """Protocol line on between-subject factors; empty without any."""
    levels = [
        f"{factor['name']} ({', '.join(level['name'] for level in factor['levels'])})"
        for factor in study.factors
    ]
    if not levels:
        return {}
    return {
        "Conditions": f"each person gets one level of {' and of '.join(levels)}, by chance and in balance"
    }
