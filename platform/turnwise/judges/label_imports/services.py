"""Import of a judge's labels from a file, as a judge of its own."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext

from evaluation.files.writing import figure
from evaluation.machine_judges.imported import SWAPPED, Columns, Imported, ImportedLabel, read_labels
from evaluation.machine_judges.template import ItemText, SideText, example_items, is_seen, prompt
from evaluation.questions import Answer, Question, QuestionSet
from evaluation.texts.personal_data import Redactor
from turnwise.accounts.models import User
from turnwise.crowd.redaction import redactor_of
from turnwise.judges import queries, services
from turnwise.judges.label_imports.files import LabelTable
from turnwise.judges.models import Judge, JudgeRun, MachineLabel
from turnwise.judging.items.sources import source_studies
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import About
from turnwise.studies.models import Ask
from turnwise.studies.services import results_changed

Outcome = MachineLabel.Outcome
BATCH = 2_000


def read_table(ask: Ask, table: LabelTable, columns: Columns) -> Imported:
    """Read the labels of a table about the items of an ask."""
    keys = {str(key) for key in services.items_to_judge(ask).values_list("key", flat=True)}
    return read_labels(
        question_set(ask.question_set), table.rows, columns, keys, of_pairs=ask.about == About.PAIR
    )


@transaction.atomic
def store(
    ask: Ask, found: Imported, *, title: str, file_name: str, sha256: str, by: User, now: datetime
) -> JudgeRun:
    """Store the labels of a file as a complete run of a judge of its own.

    Raises:
        ValidationError: the file has problems, no answers, or was imported under this title already; an item
            was deleted meanwhile. Nothing was stored.
    """
    _refuse_unusable(ask, found)
    judge, _is_new = Judge.objects.get_or_create(
        owner=by,
        source=Judge.Source.FILE,
        fingerprint=sha256,
        title=title,
        question_set=ask.question_set,
        draws=max(label.draw for label in found.labels),
        defaults={"file_name": file_name[-255:], "instructions": ""},
    )
    Judge.objects.select_for_update().get(pk=judge.pk)
    of_file = {"judge__fingerprint": sha256, "judge__title": title, "judge__owner": by}
    if JudgeRun.objects.filter(ask=ask, judge__source=Judge.Source.FILE, **of_file).exists():
        raise ValidationError(
            gettext(
                "This file was imported as “%(title)s” already. Remove that run first, or change the title."
            )
            % {"title": title}
        )
    run = JudgeRun.objects.create(
        judge=judge, study=ask.study, ask=ask, started_by=by, state=JudgeRun.State.DONE, finished_at=now
    )
    _store_labels(run, found, now)
    results_changed(run.study_id)
    return run


def _refuse_unusable(ask: Ask, found: Imported) -> None:
    if found.problems:
        line, problem = found.problems[0]
        raise ValidationError(gettext("Line %(line)d: %(problem)s") % {"line": line, "problem": problem})
    if ask.study.rehearsal_of_id:
        raise ValidationError(gettext("This is a rehearsal. Import the labels into the study itself."))
    if not any(label.answers for label in found.labels):
        raise ValidationError(
            gettext(
                "No label is one of the choices. Choose other columns, or correct the answers in the file."
            )
        )


def _store_labels(run: JudgeRun, found: Imported, now: datetime) -> None:
    items = services.items_to_judge(run.ask).select_for_update(no_key=True).order_by("pk")
    by_key = {str(key): pk for key, pk in items.values_list("key", "pk")}
    if gone := next((label for label in found.labels if label.item not in by_key), None):
        raise ValidationError(
            gettext("Item %(item)s has been taken out meanwhile. Look at the preview again.")
            % {"item": gone.item}
        )
    seen = _seen_items(run.ask)
    MachineLabel.objects.bulk_create(
        (
            MachineLabel(
                run=run,
                item_id=by_key[label.item],
                has_seen=label.item in seen,
                is_swapped=label.is_swapped,
                draw=label.draw,
                outcome=Outcome.OUTSIDE if label.answers is None else Outcome.ANSWERED,
                answers=label.answers,
                probabilities=label.probabilities or None,
                text=label.reason,
                characters=len(label.reason),
                why=label.why,
                at=now,
            )
            for label in found.labels
        ),
        batch_size=BATCH,
    )


def _seen_items(ask: Ask) -> set[str]:
    """Keys of the items that are worked examples: the file of items has their right answers in the prompt."""
    examples = example_items(question_set(ask.question_set))
    texts = queries.texts_to_judge(ask) if examples else ()
    return {key for key, _is_swapped, text in texts if is_seen(text, examples)}


def item_lines(ask: Ask) -> Iterator[str]:
    """The items of an ask as JSON Lines with `id` and `input`, a data set that inspect_ai reads.

    The input is the prompt that a bot would get; personal data are redacted, as in other exports.
    """
    redactor = redactor_of({ask.study_id, *source_studies(ask.study)})
    instructions = services.instructions_for(ask)
    for key, is_swapped, text in queries.texts_to_judge(ask):
        reference = f"{key}{SWAPPED}" if is_swapped else key
        given = prompt(instructions, _redacted(text, redactor))
        yield json.dumps({"id": reference, "input": given}, ensure_ascii=False) + "\n"


def _redacted(item: ItemText, redactor: Redactor) -> ItemText:
    sides = [SideText([redactor(text) for text in side.texts], side.speaker) for side in item.sides]
    text = None if item.text is None else redactor(item.text)
    return ItemText([redactor(text) for text in item.before], text, sides)


@dataclass(frozen=True, slots=True)
class PreviewRow:
    """A label for the preview; each answer with the question's wording, its caption and its probability."""

    label: ImportedLabel
    answers: list[tuple[str, str, str]]


def preview_rows(questions: QuestionSet, labels: Sequence[ImportedLabel]) -> list[PreviewRow]:
    """Labels with their answers in words."""
    return [
        PreviewRow(
            label,
            [
                (question.wording, question.caption_of(answer), _probability(question, answer, label))
                for question in questions.questions
                if (answer := (label.answers or {}).get(question.key)) is not None
            ],
        )
        for label in labels
    ]


def _probability(question: Question, answer: Answer, label: ImportedLabel) -> str:
    chosen, known = question.index_of(answer), label.probabilities.get(question.key)
    found = known[chosen] if known and chosen is not None else None
    return "" if found is None else figure(found, 2)
