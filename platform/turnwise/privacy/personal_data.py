"""Which redactions hold for what leaves the platform from a study.

Looking through what people wrote in a study for likely personal data.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Q
from django.urls import reverse

from evaluation.questions import Answer, Question
from evaluation.questions import Kind as QuestionKind
from evaluation.texts.cleaning import WITHDRAWN
from evaluation.texts.personal_data import Kind, Redactor, find_personal_data
from turnwise.crowd.redaction import redactor_of
from turnwise.dialogues.models import Turn
from turnwise.judging.models import Item
from turnwise.labels.models import Label
from turnwise.questions.question_sets import question_set
from turnwise.responses.models import Response
from turnwise.studies.models import Study

# From an item to the studies in which what it shows was said or written.
_SAID_IN = (
    "turn__dialogue__study", "dialogue__study", "response__run__study",
    "pair__first_response__run__study", "pair__second_response__run__study",
    "pair__first_dialogue__study", "pair__second_dialogue__study",
)  # fmt: skip


def redactor_for(study: Study) -> Redactor:
    """Those of the study, and of every study whose texts its workers judge."""
    return redactor_of({study.pk, *_sources(study)})


def _sources(study: Study) -> set[int]:
    items, found = Item.objects.filter(study=study).order_by(), set[int]()
    for path in _SAID_IN:
        # Whether an item is of such a thing stands in its own row: else all conversations would be read.
        there = items.filter(**{f"{path.partition('__')[0]}__isnull": False, f"{path}__isnull": False})
        found.update(there.values_list(path, flat=True).distinct())
    return found


def studies_quoted_by(study: Study) -> set[int]:
    """The study, those whose texts it judges, and all that judge the same: its bundle may tell of them."""
    said_in = {study.pk, *_sources(study)}
    return said_in | studies_that_judge(said_in)


def studies_that_judge(studies: Collection[int]) -> set[int]:
    """Studies whose reports and exports have texts of these."""
    items = Item.objects.order_by().values_list("study", flat=True).distinct()
    return {found for path in _SAID_IN for found in items.filter(**{f"{path}__in": studies})}


def answered(question: Question, answers: Mapping[str, Answer], redactor: Redactor) -> Answer | None:
    """What was answered, with marks in free text."""
    answer = answers.get(question.key)
    return redactor(answer) if question.kind is QuestionKind.TEXT and isinstance(answer, str) else answer


# Looked through at once, in a tenth of a second; the page goes on from there.
AT_ONCE = 2_000
PASSAGES = 3
AROUND = 40


@dataclass(frozen=True, slots=True)
class Passage:
    """Where something was found: what stands around it, and the page with the whole."""

    before: str
    text: str
    after: str
    where: str
    address: str


@dataclass(slots=True)
class LikelyPersonalData:
    """Likely personal data: what, how often, and its first passages."""

    kind: Kind
    text: str
    times: int = 0
    passages: list[Passage] = field(default_factory=list)

    @property
    def value(self) -> str:
        """As a form sends it."""
        return f"{self.kind.name} {self.text}"


@dataclass(slots=True)
class ReviewedTexts:
    """What was found in some of a study's texts.

    Attributes:
        found: each text once, the most frequent first.
        looked_through: how many texts that were.
        after: from where to go on; None: these were the last.
    """

    found: list[LikelyPersonalData]
    looked_through: int
    after: int | None


@dataclass(frozen=True, slots=True)
class _Text:
    text: str
    where: str
    address: str


def review_texts(study: Study, *, after: int = 0, at_once: int = AT_ONCE) -> ReviewedTexts:
    """Likely personal data in what people wrote, but for what is redacted already.

    Args:
        study: whose texts.
        after: the turn after which to go on; 0 begins with the first, and with all other texts.
        at_once: how many turns to look through.
    """
    turns = list(_turns(study).filter(pk__gt=after).order_by("pk")[: at_once + 1])
    texts = [*map(_of_turn, turns[:at_once])]
    if not after:
        texts += [*_responses(study), *_answers(study)]
    known, found = redactor_of([study.pk]), dict[str, LikelyPersonalData]()
    for each in texts:
        for one in find_personal_data(each.text):
            if known(one.text) != one.text:
                continue
            likely = found.setdefault(one.text.casefold(), LikelyPersonalData(one.kind, one.text))
            likely.times += 1
            if len(likely.passages) < PASSAGES:
                before, rest = each.text[max(0, one.start - AROUND) : one.start], each.text[one.end :]
                likely.passages.append(Passage(before, one.text, rest[:AROUND], each.where, each.address))
    is_more = len(turns) > at_once
    ordered = sorted(found.values(), key=lambda each: (-each.times, each.kind.name, each.text))
    return ReviewedTexts(ordered, len(texts), turns[at_once - 1].pk if is_more else None)


def _turns(study: Study) -> Any:
    """What people said, without scripted openings."""
    of_people = Turn.objects.filter(dialogue__study=study, bot_version=None).exclude(text=WITHDRAWN)
    of_people = of_people.filter(~Q(dialogue__origin="live") | Q(key__isnull=False))
    return of_people.select_related("dialogue").only("text", "position", "dialogue__public_id")


def _of_turn(turn: Turn) -> _Text:
    page = reverse("labels:transcript", args=[turn.dialogue.public_id])
    return _Text(turn.text, str(turn.dialogue.public_id)[:8], f"{page}#turn-{turn.position}")


def _responses(study: Study) -> Iterator[_Text]:
    written = Response.objects.filter(author__study=study).select_related("run").order_by("pk")
    for each in written[:AT_ONCE]:
        yield _Text(each.text, str(each.run), each.run.get_absolute_url())


def _answers(study: Study) -> Iterator[_Text]:
    """Free text among the answers; what was chosen is never likely."""
    for question_set_key, keys in _free_texts(study).items():
        given = Label.objects.filter(study=study, question_set=question_set_key, answers__has_any_keys=keys)
        with_turns = given.select_related("turn__dialogue", "dialogue", "participation")
        for each in with_turns.order_by("pk")[:AT_ONCE]:
            said = [each.answers[key] for key in keys if isinstance(each.answers.get(key), str)]
            for text in said:
                yield _Text(text, *_whereabouts(each))


def _free_texts(study: Study) -> dict[str, list[str]]:
    """By question set that was answered, the keys of its free-text questions."""
    used = Label.objects.filter(study=study).values_list("question_set", flat=True).distinct().order_by()
    asked = {key: question_set(key).free_texts for key in used}
    return {key: keys for key, keys in asked.items() if keys}


def _whereabouts(label: Label) -> tuple[str, str]:
    if label.participation:
        return label.participation.pseudonym, reverse("crowd:participants", args=[label.study_id])
    dialogue = label.dialogue or (label.turn.dialogue if label.turn else None)
    if dialogue:
        return str(dialogue.public_id)[:8], reverse("labels:transcript", args=[dialogue.public_id])
    item = Item.objects.filter(slots__label=label).first()
    return ("", reverse("judging:item", args=[label.study_id, item.key])) if item else ("", "")
