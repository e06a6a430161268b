"""Find likely personal data in a study's texts, and the redactions that apply to its exports."""

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
from turnwise.judging.items.sources import SOURCE_STUDIES, source_studies
from turnwise.judging.models import Item
from turnwise.labels.models import Label
from turnwise.questions.question_sets import question_set
from turnwise.responses.models import Response
from turnwise.studies.models import Study


def redactor_for(study: Study) -> Redactor:
    """Redactor for a study's exports: its redactions, and those of all studies whose texts it judges."""
    return redactor_of({study.pk, *source_studies(study)})


def studies_quoted_by(study: Study) -> set[int]:
    """The study, the studies whose texts it judges, and all studies that judge the same texts."""
    sources = {study.pk, *source_studies(study)}
    return sources | studies_that_judge(sources)


def studies_that_judge(studies: Collection[int]) -> set[int]:
    """Studies whose reports and exports contain texts of these studies."""
    items = Item.objects.order_by().values_list("study", flat=True).distinct()
    return {key for path in SOURCE_STUDIES for key in items.filter(**{f"{path}__in": studies})}


def answered(question: Question, answers: Mapping[str, Answer], redactor: Redactor) -> Answer | None:
    """Answer to a question, with redactions in free text."""
    answer = answers.get(question.key)
    return redactor(answer) if question.kind is QuestionKind.TEXT and isinstance(answer, str) else answer


# Texts searched per page, in a tenth of a second.
AT_ONCE = 2_000
PASSAGES = 3
AROUND = 40


@dataclass(frozen=True, slots=True)
class Passage:
    """One occurrence of likely personal data, with its surroundings and the page that shows it."""

    before: str
    text: str
    after: str
    where: str
    address: str


@dataclass(slots=True)
class LikelyPersonalData:
    """Likely personal data with its number of occurrences and the first passages."""

    kind: Kind
    text: str
    times: int = 0
    passages: list[Passage] = field(default_factory=list)

    @property
    def value(self) -> str:
        """Value in the form: kind and text."""
        return f"{self.kind.name} {self.text}"


@dataclass(slots=True)
class ReviewedTexts:
    """Likely personal data in one page of a study's texts.

    Attributes:
        found: each text once, the most frequent first.
        looked_through: number of texts searched.
        after: key of the last turn searched, to continue from; None at the end.
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
    """Search people's texts for likely personal data that is not redacted yet.

    Args:
        study: the study.
        after: key of the turn after which to continue; 0 also searches responses and answers.
        at_once: number of turns to search.
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
    """Turns written by people, without scripted openings."""
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
    """Free-text answers; chosen options contain no personal data."""
    for question_set_key, keys in _free_texts(study).items():
        given = Label.objects.filter(study=study, question_set=question_set_key, answers__has_any_keys=keys)
        with_turns = given.select_related("turn__dialogue", "dialogue", "participation")
        for each in with_turns.order_by("pk")[:AT_ONCE]:
            texts = [each.answers[key] for key in keys if isinstance(each.answers.get(key), str)]
            for text in texts:
                yield _Text(text, *_whereabouts(each))


def _free_texts(study: Study) -> dict[str, list[str]]:
    """Keys of the free-text questions, by answered question set."""
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
