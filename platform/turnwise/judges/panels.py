"""Panels: several complete runs as one judge, whose labels are computed from theirs and stored."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext

from evaluation.machine_judges.panels import Answers, Rule, panel_labels
from evaluation.machine_judges.template import MOST_DRAWS
from turnwise.accounts.models import User
from turnwise.judges.models import Judge, JudgeRun, MachineLabel
from turnwise.questions.question_sets import question_set
from turnwise.studies.services import results_changed

Outcome = MachineLabel.Outcome
FEWEST, MOST = 2, MOST_DRAWS
BATCH = 2_000


@transaction.atomic
def form_panel(members: Sequence[JudgeRun], *, title: str, rule: Rule, by: User, now: datetime) -> JudgeRun:
    """Store a panel of these runs, with its labels.

    Raises:
        ValidationError: too few or too many members, or members that are not complete, are themselves panels,
            are of different asks, or whose answers do not have the same weight in a mean.
    """
    keys = [run.pk for run in members]
    locked = JudgeRun.objects.select_for_update(of=("self",)).filter(pk__in=keys).order_by("pk")
    runs = list(locked.select_related("judge__bot", "bot_version", "ask"))
    if reason := _why_no_panel(runs, rule):
        raise ValidationError(reason)
    judge = Judge.objects.create(
        owner=by,
        source=Judge.Source.PANEL,
        title=title,
        rule=rule,
        question_set=runs[0].ask.question_set,
        instructions="",
        draws=1 if rule is Rule.VOTE else sum(run.judge.draws for run in runs),
        fingerprint=_fingerprint(runs, rule),
    )
    panel = JudgeRun.objects.create(
        judge=judge,
        study_id=runs[0].study_id,
        ask=runs[0].ask,
        started_by=by,
        state=JudgeRun.State.DONE,
        finished_at=now,
    )
    panel.members.set(runs)
    _store_labels(panel, now=now)
    results_changed(panel.study_id)
    return panel


def _why_no_panel(runs: Sequence[JudgeRun], rule: Rule) -> str:
    """Reason why these runs cannot be a panel; empty if they can."""
    if not FEWEST <= len(runs) <= MOST:
        return gettext("A panel has %(fewest)d to %(most)d judges. Choose as many.") % {
            "fewest": FEWEST,
            "most": MOST,
        }
    if any(run.judge.source == Judge.Source.PANEL for run in runs):
        return gettext("A panel cannot be a member of a panel. Choose its members instead.")
    if any(run.state != JudgeRun.State.DONE for run in runs):
        return gettext("Only complete runs can be members. Continue the others first.")
    if len({run.ask_id for run in runs}) > 1:
        return gettext("All members must have answered the same questions. Choose runs of one ask.")
    draws = {run.judge.draws for run in runs}
    if rule is Rule.MEAN and (len(draws) > 1 or len(runs) * max(draws) > MOST_DRAWS):
        return gettext(
            "For a mean, all members need the same number of answers for each item, at most %(most)d "
            "altogether. Choose others, or a vote."
        ) % {"most": MOST_DRAWS}
    return ""


def _fingerprint(runs: Sequence[JudgeRun], rule: Rule) -> str:
    """SHA-256 of the rule and of the members with the versions of their bots."""
    of_members = [
        [run.judge.exported_name, run.judge.fingerprint, run.bot_version and run.bot_version.fingerprint]
        for run in runs
    ]
    return hashlib.sha256(json.dumps([rule, sorted(of_members, key=str)]).encode()).hexdigest()


def refresh_panels_of(member: JudgeRun, *, now: datetime) -> None:
    """Compute the labels of a run's panels anew, after it has judged more items."""
    for panel in JudgeRun.objects.filter(members=member).select_related("judge"):
        panel.labels.all().delete()
        _store_labels(panel, now=now)


_ItemInOrder = tuple[int, bool]
"""Item, and order of its sides."""


def _store_labels(panel: JudgeRun, *, now: datetime) -> None:
    questions, rule = question_set(panel.judge.question_set), Rule(panel.judge.rule)
    members = {run.pk: _name(run) for run in panel.members.select_related("judge__bot").order_by("pk")}
    given, seen = _answers_of(members)
    MachineLabel.objects.bulk_create(
        (
            MachineLabel(
                run=panel,
                item_id=item,
                is_swapped=is_swapped,
                draw=label.draw,
                outcome=Outcome.ANSWERED if label.answers else Outcome.UNDECIDED,
                answers=label.answers or None,
                why=label.why,
                has_seen=item in seen,
                at=now,
            )
            for (item, is_swapped), of_members in given.items()
            for label in panel_labels(questions, rule, [*members.values()], of_members)
        ),
        batch_size=BATCH,
    )


def _name(run: JudgeRun) -> str:
    return f"{run.judge.exported_name} (run {run.pk})"


def _answers_of(
    members: Mapping[int, str],
) -> tuple[dict[_ItemInOrder, dict[str, list[Answers]]], set[int]]:
    """Answers of each member about each item and order, and the items that a member has seen answered.

    An item that only refused, failed or unusable labels are about is there, too, without answers.
    """
    labels = MachineLabel.objects.filter(run__in=members).order_by("item", "is_swapped", "run", "draw")
    given: dict[_ItemInOrder, dict[str, list[Answers]]] = defaultdict(lambda: defaultdict(list))
    seen = set()
    for label in labels.iterator(chunk_size=BATCH):
        of_item = given[label.item_id, label.is_swapped]
        if label.answers is not None:
            of_item[members[label.run_id]].append(label.answers)
        if label.has_seen:
            seen.add(label.item_id)
    return given, seen
