"""Reads of machine judges: runs with their progress, labels, files."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import Count, Q, QuerySet
from django.utils.text import Truncator

from evaluation.files.writing import csv_text
from evaluation.machine_judges.template import ItemText, judgeable_questions, prompt
from evaluation.questions import Answer, QuestionSet
from turnwise.crowd.redaction import redactor_of
from turnwise.judges.models import Judge, JudgeRun, MachineLabel
from turnwise.judges.requests import text_of
from turnwise.judges.services import (
    TO_JUDGE,
    answers_per_item,
    instructions_for,
    items_to_judge,
    orders_of,
)
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.items.sources import source_studies
from turnwise.judging.models import Item
from turnwise.judging.queries import item_for_raters, items_of
from turnwise.questions.question_sets import question_set
from turnwise.responses.bot_jobs import MOST_ATTEMPTS
from turnwise.studies.models import Ask, Study

Outcome = MachineLabel.Outcome


def judgeable_asks(study: Study) -> list[Ask]:
    """Asks of readers that a machine can judge: not free text alone."""
    return [ask for ask in asks_of_readers(study) if judgeable_questions(question_set(ask.question_set))]


def runs_of(study: Study) -> QuerySet[JudgeRun]:
    """Runs of a study, newest first."""
    return JudgeRun.objects.filter(study=study).select_related(
        "judge__bot", "bot_version", "ask", "study", "started_by"
    )


def possible_members(study: Study) -> list[JudgeRun]:
    """Complete runs that a panel can have as members, newest first."""
    return list(
        runs_of(study).filter(state=JudgeRun.State.DONE).exclude(judge__source=Judge.Source.PANEL)[:50]
    )


MOST_REPORTED = 5
REPORTED_RUNS = f"""
SELECT newest.id
  FROM (SELECT DISTINCT ON (r.ask_id, r.judge_id) r.id
          FROM judges_judgerun AS r
         WHERE r.study_id = {{study}} AND r.state = '{JudgeRun.State.DONE}'
         ORDER BY r.ask_id, r.judge_id, r.id DESC) AS newest
 ORDER BY newest.id DESC LIMIT {MOST_REPORTED}
"""
"""SQL of the runs in a study's report and bundle: of each judge and ask the newest that is complete."""


def reported_runs(study: Study) -> list[JudgeRun]:
    """Runs in the study's report, oldest first."""
    with connection.cursor() as cursor:
        cursor.execute(REPORTED_RUNS.format(study="%s"), [study.pk])
        keys = [key for (key,) in cursor.fetchall()]
    return list(runs_of(study).filter(pk__in=keys).order_by("pk")) if keys else []


def seen_items(run: JudgeRun) -> int:
    """Number of items about which the judge was shown people's answers."""
    return run.labels.filter(has_seen=True).order_by().values("item").distinct().count()


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run, in answers: one for each item, order and draw.

    Attributes:
        had: answers that are final.
        wanted: answers wanted of the items that are in the queue now.
        by_outcome: number of labels by outcome, in the order of `MachineLabel.Outcome`; failed ones may still
            be tried again.
    """

    had: int
    wanted: int
    by_outcome: Mapping[str, int]

    @property
    def total(self) -> int:
        """Number of labels."""
        return sum(self.by_outcome.values())

    @property
    def outcomes(self) -> list[tuple[str, int, float]]:
        """Caption, number and percentage of each outcome."""
        total = max(self.total, 1)
        shown = {key: n for key, n in self.by_outcome.items() if n or key != Outcome.UNDECIDED}
        return [(str(Outcome(key).label), n, 100 * n / total) for key, n in shown.items()]


def progress(run: JudgeRun) -> Progress:
    return progress_by_run([run])[run.pk]


def progress_by_run(runs: Sequence[JudgeRun]) -> dict[int, Progress]:
    """Progress of each of these runs, by key."""
    labels = MachineLabel.objects.filter(run__in=runs).order_by().values_list("run", "outcome")
    is_open = Q(outcome=Outcome.FAILED, attempts__lt=MOST_ATTEMPTS)
    counts: dict[int, dict[str, int]] = {run.pk: {} for run in runs}
    still_open: dict[int, int] = {}
    for run, outcome, n, open_failures in labels.annotate(n=Count("pk"), o=Count("pk", filter=is_open)):
        counts[run][outcome] = n
        still_open[run] = still_open.get(run, 0) + open_failures
    asks = {run.ask_id for run in runs}
    items = Item.objects.filter(TO_JUDGE, ask__in=asks).order_by().values_list("ask")
    items_of_ask = dict(items.annotate(n=Count("pk")))
    return {
        run.pk: _progress(
            counts[run.pk],
            still_open.get(run.pk, 0),
            items_of_ask.get(run.ask_id, 0) * answers_per_item(run),
        )
        for run in runs
    }


def _progress(counted: Mapping[str, int], open_failures: int, wanted: int) -> Progress:
    had = sum(counted.values()) - open_failures
    return Progress(had, max(wanted, had), {key: counted.get(key, 0) for key in Outcome.values})


def stamp(run: JudgeRun, now_at: Progress) -> str:
    """A text that changes whenever the run's page does."""
    return "-".join([run.state, *map(str, now_at.by_outcome.values()), str(now_at.had), str(len(run.reason))])


def prompt_preview(ask: Ask) -> str:
    """The prompt about the first item of an ask, as a bot gets it; empty without items."""
    item = items_to_judge(ask).order_by("key").first()
    return prompt(instructions_for(ask), text_of(item_for_raters(item))) if item else ""


_TEXTS = """
SELECT i.key::text, o.is_swapped, judging_shown(i, o.is_swapped)
  FROM judging_item AS i
 CROSS JOIN unnest(%s) AS o(is_swapped)
 WHERE i.study_id = %s AND i.ask_id = %s AND i.right_answers IS NULL AND i.removed_at IS NULL
   AND i.anchor_id IS NULL
 ORDER BY i.key, o.is_swapped
"""


def texts_to_judge(ask: Ask) -> Iterator[tuple[str, bool, ItemText]]:
    """Key, order of the sides and texts of each item that a judge labels."""
    with connection.cursor() as cursor:
        cursor.execute(_TEXTS, [orders_of(ask), ask.study_id, ask.pk])
        for key, is_swapped, shown in cursor.fetchall():
            yield key, is_swapped, text_of(json.loads(shown))


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A label for a page.

    Attributes:
        label: the label, with its item.
        text: what was judged, of a pair the beginnings of both sides; empty for whole conversations and
            contexts.
        answers: wording of each question and the answer's caption.
    """

    label: MachineLabel
    text: str
    answers: list[tuple[str, str]]


def labels_of(run: JudgeRun, outcome: str) -> QuerySet[MachineLabel]:
    """Labels of a run, all or with this outcome, in the order of the queue."""
    of_pairs = ("item__pair__first_response", "item__pair__second_response")
    labels = run.labels.select_related("item__turn", "item__response", *of_pairs).order_by(
        "item__key", "is_swapped", "draw"
    )
    return labels.filter(outcome=outcome) if outcome in Outcome.values else labels


def label_row(questions: QuestionSet, label: MachineLabel) -> LabelRow:
    """A label with its answers in words."""
    return LabelRow(label, _text_of_item(label.item), _in_words(questions, label.answers or {}))


def _text_of_item(item: Item) -> str:
    """What was judged; of a pair both responses. Empty for whole conversations and contexts."""
    if pair := item.pair:
        both = [each for each in (pair.first_response, pair.second_response) if each]
        return " / ".join(Truncator(each.text).chars(70) for each in both)
    judged = item.response or item.turn
    return judged.text if judged else ""


def _in_words(questions: QuestionSet, answers: Mapping[str, Answer]) -> list[tuple[str, str]]:
    return [(q.wording, q.caption_of(answers[q.key])) for q in questions.questions if q.key in answers]


_FILE = f"""
SELECT i.key::text, i.system, i.cluster_name, l.is_swapped, l.draw, l.outcome, l.answers::text,
       l.probabilities::text, l.text, l.characters, l.why, l.attempts, l.at, l.latency_ms
  FROM judges_machinelabel AS l
  JOIN (SELECT found.*, CASE WHEN found.cluster < 0 THEN 'context ' || -found.cluster
                             ELSE 'conversation ' || found.cluster END AS cluster_name
          FROM ({items_of(ask="%s")}) AS found) AS i ON i.id = l.item_id
 WHERE l.run_id = %s
 ORDER BY i.key, l.is_swapped, l.draw
"""
_FIXED = (
    "rater", "judge", "judge_fingerprint", "bot_version", "item", "system", "cluster", "sides_swapped",
    "draw", "outcome",
)  # fmt: skip
_LAST = ("probabilities", "text", "characters", "why", "attempts", "at", "latency_ms")


def file_rows(run: JudgeRun) -> Iterator[dict[str, Any]]:
    """Rows of the files of labels, with redactions as in other exports."""
    redactor = redactor_of({run.study_id, *source_studies(run.study)})
    judge, version = run.judge, run.bot_version
    about_run = ("machine", judge.exported_name, judge.fingerprint, version.fingerprint if version else None)
    asked = judgeable_questions(question_set(judge.question_set))
    with connection.cursor() as cursor:
        cursor.execute(_FILE, [run.study_id, run.ask_id, run.pk])
        rows = cursor.fetchall()
    for *which, outcome, answers, probabilities, text, characters, why, attempts, at, latency in rows:
        given = json.loads(answers) if answers else {}
        known = json.loads(probabilities) if probabilities else None
        last = (known, redactor(text), characters, redactor(why), attempts, at.isoformat(), latency)
        yield {
            **dict(zip(_FIXED, (*about_run, *which, outcome), strict=True)),
            **{f"answer_{question.key}": given.get(question.key) for question in asked},
            **dict(zip(_LAST, last, strict=True)),
        }


def csv_lines(run: JudgeRun) -> Iterator[str]:
    """The labels as CSV without live formulas; several choices are a JSON list."""
    asked = judgeable_questions(question_set(run.judge.question_set))
    header = [*_FIXED, *(f"answer_{question.key}" for question in asked), *_LAST]
    rows = ([_cell(value) for value in row.values()] for row in file_rows(run))
    yield csv_text([header, *rows])


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def json_lines(run: JudgeRun) -> Iterator[str]:
    """The labels as JSON Lines."""
    for row in file_rows(run):
        yield json.dumps(row, ensure_ascii=False) + "\n"
