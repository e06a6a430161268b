"""What each of the two who talk has to read beside the conversation. It is given once and never changes."""

from collections.abc import Collection, Sequence

from django.utils.translation import gettext_noop

from chatbots.base import Passage
from evaluation.questions.topical_chat import SECTIONS, TOPICAL_CHAT_OWN
from turnwise.dialogues.models import Dialogue, Material, Seat
from turnwise.knowledge.sections import Section

# Titles that reading sets give (knowledge/reading_sets.py); stored in English, read in the worker's language.
TITLES = (
    gettext_noop("Factual Section 1"),
    gettext_noop("Factual Section 2"),
    gettext_noop("Factual Section 3"),
    gettext_noop("Article Section 1"),
    gettext_noop("Article Section 2"),
    gettext_noop("Article Section 3"),
    gettext_noop("Article Section 4"),
)


def give(seat: Seat, sections: Sequence[Section]) -> None:
    """Put these texts beside the conversation of a seat, in this order."""
    Material.objects.bulk_create(
        Material(
            seat=seat,
            number=number,
            key=section.key,
            title=section.title,
            heading=section.heading,
            text=section.text,
            points=list(section.points),
            variant=section.variant,
        )
        for number, section in enumerate(sections, start=1)
    )


def hidden_sections(question_set: str, shown: Collection[str]) -> frozenset[str]:
    """Sections of reading sets that these questions name, and that a seat with these texts was not shown."""
    if question_set != TOPICAL_CHAT_OWN.key or not shown:
        return frozenset()
    return frozenset(SECTIONS) - frozenset(shown)


def read_in(dialogue: Dialogue) -> dict[int, list[Material]]:
    """By number of the seat, what its reader has beside the conversation; seats without are left out."""
    found: dict[int, list[Material]] = {}
    texts = Material.objects.filter(seat__dialogue=dialogue).select_related("seat")
    for each in texts.order_by("seat__number", "number"):
        found.setdefault(each.seat.number, []).append(each)
    return found


def passages_of(seat: Seat) -> tuple[Passage, ...]:
    """What a bot in this seat has read, each text with its facts below it."""
    return tuple(
        Passage("\n".join(filter(None, [each.text, *each.points])), str(each))
        for each in seat.materials.order_by("number")
    )
