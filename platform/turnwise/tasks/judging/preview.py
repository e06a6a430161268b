"""The preview of judging and comparing for the study's team, on its first items. Nothing is stored."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from django.db import connection
from django.db.models import Case, Value, When, Window
from django.db.models.functions import RowNumber
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from evaluation.questions import AnswersError, Subject
from turnwise.crowd.worker_task import EXAMPLE_CODE, FrameAnswers, ItemsPreview
from turnwise.judging.asks import asks_of_readers, questions_by_ask_number
from turnwise.judging.batteries.battery_rules import battery_of
from turnwise.judging.models import Item, JudgingPlan
from turnwise.judging.queue import training
from turnwise.judging.queue.rater_session import REFUSALS, ShownItem, reading_of_items
from turnwise.knowledge.reading_sets import parse_pasted
from turnwise.live.frames import Frame, RefusedError, field
from turnwise.questions.forms import sample_item
from turnwise.questions.question_sets import describe_answers_error, question_set
from turnwise.studies.ask_rules import SUBJECTS
from turnwise.studies.asks import About
from turnwise.studies.models import Ask, Study
from turnwise.tasks.judging.consumers import html_of, reading_of
from turnwise.tasks.judging.training_views import example_rows

MOST_SHOWN = 3


class JudgingPreviewed(ItemsPreview):
    """A preview with a few items of each ask, or a marked example if an ask has none."""

    template = "tasks/judging/judge.html"
    example = Subject.RESPONSE
    undone = "unjudged", REFUSALS["unjudged"]

    @override
    @classmethod
    def pages_of(cls, study: Study) -> Mapping[str, str | Promise]:
        trained = {"training": _("Training")} if training.allowed_tries(study) else {}
        return trained | dict(cls.pages)

    @override
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.asks = asks_of_readers(self.study)
        self.sets = {ask.number: question_set(ask.question_set) for ask in self.asks}
        self.plan = getattr(self.study, "judging", None) or JudgingPlan(study=self.study)
        self.battery = battery_of(self.study)
        self.items = self._items() if self.key == "work" else []

    def _items(self) -> list[ShownItem]:
        first = self._first_of_each_ask()
        items = self._items_with_reading([row.pk for rows in first.values() for row in rows])
        return [item for ask in self.asks for item in self._items_of(ask, first[ask.pk], items)]

    def _items_of(self, ask: Ask, rows: Sequence[Item], items: Mapping[int, ShownItem]) -> list[ShownItem]:
        if not rows:
            example = sample_item(self._example_of(ask)) | {"key": f"tried-{ask.number}", "ask": ask.number}
            return [self._prepare(example, 0)]
        return [self._prepare(items[row.pk], at) for at, row in enumerate(rows)]

    def _items_with_reading(self, keys: Sequence[int]) -> Mapping[int, ShownItem]:
        """Items in the format of the judging page by their key, with their reading."""
        found = _items_for_raters(keys)
        if self.plan.shows_reading:
            read = reading_of_items(keys)
            for key, item in found.items():
                item["reading"] = reading_of({"reading": read.get(key, [])})
        return found

    def _first_of_each_ask(self) -> Mapping[int, list[Item]]:
        """The first items of each ask in the language of the page, or in any if it has none in that."""
        fits = Case(When(language=self.language, then=Value(0)), default=Value(1))
        rank = Window(RowNumber(), partition_by="ask", order_by=(fits, "pk"))
        queued = Item.objects.filter(study=self.study, right_answers__isnull=True, removed_at__isnull=True)
        found: dict[int, list[Item]] = {ask.pk: [] for ask in self.asks}
        for row in queued.annotate(rank=rank).filter(rank__lte=MOST_SHOWN).order_by("ask", "rank"):
            found[row.ask_id].append(row)
        fitting = {ask: [row for row in rows if row.language == self.language] for ask, rows in found.items()}
        return {ask: fitting[ask] or rows for ask, rows in found.items()}

    def _example_of(self, ask: Ask) -> Subject:
        able = self.sets[ask.number].subjects
        fitting = able & SUBJECTS[About(ask.about)] or able
        return self.example if self.example in fitting else min(fitting)

    def _prepare(self, item: ShownItem, at: int) -> ShownItem:
        if self.battery:
            item |= {"asks_reason": bool(self.battery.reasons_at) and not at}
        if self.study.markdown:
            item |= {"html": html_of(item)}
        return item

    # --- the page ----------------------------------------------------------------------------------

    @override
    def template_and_context(self) -> tuple[str, dict[str, Any]]:
        return self._training() if self.key == "training" else self._judging()

    def _training(self) -> tuple[str, dict[str, Any]]:
        examples = training.examples_of(self.study, self.language)
        left = training.describe_attempts_left(training.allowed_tries(self.study))
        return "tasks/judging/training.html", {"examples": example_rows(examples, ()), "left": left}

    def _judging(self) -> tuple[str, dict[str, Any]]:
        materials = parse_pasted(self.study.material) if self.study.material else []
        asks = questions_by_ask_number(self.study, self.language)
        return self.template, {
            "resume_code": EXAMPLE_CODE,
            "materials": materials,
            "has_reading": bool(materials) or self.plan.shows_reading,
            "settings": {"socket": self.socket, "batch": self.name, "asks": asks},
        }

    # --- the socket --------------------------------------------------------------------------------

    @override
    def items_frame(self) -> Frame:
        return {"items": self.items, "judged": []}

    @override
    def answers(self) -> Mapping[str, FrameAnswers]:
        return {"judge": self.judge, "finish": self.finish}

    async def judge(self, frame: Frame) -> AsyncIterator[Frame]:
        key = field(frame, "item", str)
        item = next((each for each in self.items if each["key"] == key), None)
        if item is None:
            raise RefusedError("given_away", REFUSALS["given_away"])
        questions = self.sets[item["ask"]]
        try:
            answers = questions.check(field(frame, "answers", dict))
        except AnswersError as error:
            raise RefusedError(error.code, describe_answers_error(error)) from error
        if item.get("asks_reason") and not all(answers.get(each) for each in questions.free_texts):
            raise RefusedError("no_reason", REFUSALS["no_reason"])
        self.done[key] = answers
        yield {"type": "judged", "item": key, "answers": answers, "leased": [], "progress": self.progress}


def _items_for_raters(keys: Sequence[int]) -> dict[int, ShownItem]:
    with connection.cursor() as cursor:
        statement = "SELECT i.id, judging_shown(i, false) FROM judging_item AS i WHERE i.id = ANY(%s)"
        cursor.execute(statement, [list(keys)])
        return {key: json.loads(item) for key, item in cursor.fetchall()}
