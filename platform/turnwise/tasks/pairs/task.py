"""The task of comparing pairs, and a demo study of ELIZA and GenericBot for new installations."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from evaluation.protocols.facts import Evaluation
from evaluation.questions import QuestionSet, Subject
from evaluation.report.bundles.columns import Table
from evaluation.report.bundles.tables import pair_tables
from evaluation.report.studies.pairs import AskOfPairs, pair_result
from turnwise.accounts.models import User
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSet
from turnwise.contexts.services import import_version, save_set
from turnwise.exports.turn_files import PAIR_JUDGMENTS
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.items import pairs
from turnwise.judging.items.subjects import add_all_items_of
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.questions.question_sets import question_set
from turnwise.rehearsals.rehearsed_task import Crowd, RehearsedTask
from turnwise.reports.queries import analysis_plan
from turnwise.reports.report_kinds import Computation, ReportedTask
from turnwise.responses.services import store_file
from turnwise.studies.asks import About, AskSpec, By
from turnwise.studies.demo_studies import CONSENT_TO_READ
from turnwise.studies.models import Study
from turnwise.studies.presets import preset_named
from turnwise.studies.services import save_study, set_state
from turnwise.studies.starting.intentions import Aim, Intention, Material
from turnwise.studies.tasks import register
from turnwise.tasks.judging.assisted import labels_of_judges, with_assisted
from turnwise.tasks.judging.preview import JudgingPreviewed
from turnwise.tasks.judging.rehearsal import copy_with_queue
from turnwise.tasks.judging.results import judged_pairs
from turnwise.tasks.pairs import rehearsal
from turnwise.tasks.pairs.forms import PairsPage

TITLE = "Demo: say which of two replies is better"
SET = "demo-pairs"
SYSTEMS = ("ELIZA", "GenericBot")
_DEMO_FILE = Path(__file__).with_name("demo.json")


@transaction.atomic
def create_demo_pairs(owner: User) -> Study:
    """Create an open study that compares ELIZA and GenericBot by the protocol of neural.chat."""
    contexts: list[dict[str, Any]] = json.loads(_DEMO_FILE.read_text())
    preset = preset_named("neural-chat-pairwise")
    assert preset
    study = preset.study()
    study.title, study.languages, study.expected_minutes = TITLE, ["en"], 10
    save_study(study, owner=owner, consent_text=CONSENT_TO_READ, targets={}, asks=preset.asks)
    pairs.add(study, pairs.PairSource.of_runs(_runs(contexts, owner)))
    return set_state(study.pk, Study.State.OPEN)


def _runs(demo: Sequence[Mapping[str, Any]], owner: User) -> list[Any]:
    context_set = save_set(
        ContextSet(name=SET, title="Demo: what people said", licence="CC0-1.0", owner=owner)
    )
    rows = [
        ContextRow(number, f"demo-{number}", tuple(each["turns"]), "", "en", False, "")
        for number, each in enumerate(demo, 1)
    ]
    version = import_version(context_set, rows, origin="Written for the demo study")
    contexts = list(version.contexts.order_by("position"))
    return [
        store_file(
            version,
            {(context.pk, 1): each[system] for context, each in zip(contexts, demo, strict=True)},
            system=system,
            owner=owner,
        )
        for system in SYSTEMS
    ]


class PairsPreviewed(JudgingPreviewed):
    """A preview with a few pairs."""

    template = "tasks/pairs/compare.html"
    example = Subject.PAIR


@register
class Pairs(QueuedTask, ReportedTask, RehearsedTask):
    """Workers say which of two responses or two conversations is better."""

    key = "pairs"
    title = "Compare two responses or two conversations side by side"
    menu = "Compare side by side"
    order = 5
    intentions = (Intention(Aim.BETTER, Material.RESPONSES), Intention(Aim.BETTER, Material.CONVERSATIONS))
    form = PairsPage
    overview = "tasks/pairs/overview.html"
    manual = "pairs"
    namespace = "pairs"

    begin = "pairs:start"
    go_on = "pairs:compare"
    heading = _("Say which of two is better")
    welcome = "tasks/pairs/welcome.html"
    instructions = "tasks/pairs/instructions.html"
    previewed = PairsPreviewed

    asks = (AskSpec("preference", About.PAIR),)
    may_ask = frozenset({(By.READERS, About.PAIR)})

    filled_at = "pairs:add"
    evaluation = Evaluation.PAIRWISE
    report = "tasks/pairs/report.html"
    analysed = "tasks/pairs/analysed.html"
    labels_exported = PAIR_JUDGMENTS
    read = "pairs"

    @override
    def make_demo(self, owner: User) -> None:
        create_demo_pairs(owner)

    @override
    def copied_into(self, study: Study, copy: Study) -> None:
        super().copied_into(study, copy)
        add_all_items_of(copy, study)

    @override
    def computation(self, study: Study) -> Computation:
        asks = [
            AskOfPairs(question_set(ask.question_set), judged_pairs(study, ask))
            for ask in asks_of_readers(study)
        ]
        of_people = partial(pair_result, asks, plan=analysis_plan(study))
        judges = labels_of_judges(study)
        return partial(with_assisted, of_people, judges, study.protocol) if judges else of_people

    @override
    def tables(self, asked: Sequence[QuestionSet]) -> tuple[Table, ...]:
        return pair_tables(asked)

    @override
    def protocol(self, study: Study) -> Mapping[str, str]:
        plan = getattr(study, "judging", None)
        return {"Raters": f"{plan.raters_per_item} for each pair"} if plan else {}

    @override
    def copied(self, study: Study, workers: int) -> Study:
        return copy_with_queue(study, workers)

    @override
    def crowd(self, rehearsed: Study, server: str, workers: int) -> Crowd:
        return rehearsal.raters(rehearsed, server, workers)
