"""Reading material beside a conversation: texts of each seat, and the article that they come from.

The material is assigned when the conversation begins and never changes.
"""

import json
from collections.abc import Collection, Sequence
from random import Random
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import F
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from chatbots.base import Passage
from evaluation.questions.sets.topical_chat import SECTIONS, TOPICAL_CHAT_OWN
from turnwise.crowd.models import Assignment, Outcome
from turnwise.dialogues.models import MOST_USES, ArticleUse, Dialogue, Material, ReadingSet, Seat
from turnwise.knowledge.models import Article
from turnwise.knowledge.reading_sets import (
    Configuration,
    KnownEntity,
    ReadableArticle,
    ReadingSets,
    Section,
    reading_sets,
)
from turnwise.studies.models import Study

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


def store_material(seat: Seat, sections: Sequence[Section]) -> None:
    """Store these texts as the seat's reading material, in this order."""
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
    """Sections that the questions name but the seat did not read; `shown` holds the keys of its texts."""
    if question_set != TOPICAL_CHAT_OWN.key or not shown:
        return frozenset()
    return frozenset(SECTIONS) - frozenset(shown)


def material_by_seat(dialogue: Dialogue) -> dict[int, list[Material]]:
    """Map seat numbers to their reading material; seats without any are left out."""
    by_seat: dict[int, list[Material]] = {}
    texts = Material.objects.filter(seat__dialogue=dialogue).select_related("seat")
    for each in texts.order_by("seat__number", "number"):
        by_seat.setdefault(each.seat.number, []).append(each)
    return by_seat


def passages_of(seat: Seat) -> tuple[Passage, ...]:
    """Passages for a bot in this seat: each text with its facts below it."""
    return tuple(
        Passage("\n".join(filter(None, [each.text, *each.points])), str(each))
        for each in seat.materials.order_by("number")
    )


class ArticlesUsedUpError(Exception):
    """Every article of the knowledge base has its most conversations in this study; nothing was changed."""


class _DrawnArticle(NamedTuple):
    """Result of the database function `dialogues_take_article` (sql/take_article.sql)."""

    article: int
    to_read: ReadableArticle
    configurations: str


def draw_reading_sets(dialogue: Dialogue, version_id: int, *, seed: int) -> ReadingSets:
    """Draw and store an article and a configuration for a conversation; returns the sets of both seats.

    Runs two statements in the caller's transaction. With the same article, the same seed gives the same sets;
    the article also depends on which ones still have uses left.

    Raises:
        ArticlesUsedUpError: no article has a use left.
    """
    draw = Random(seed)
    drawn = _draw_article(dialogue.study_id, version_id, seed)
    configuration = Configuration(draw.choice(drawn.configurations))
    ReadingSet.objects.create(
        dialogue=dialogue, article_id=drawn.article, configuration=configuration, seed=seed
    )
    return reading_sets(drawn.to_read, configuration, draw)


def _draw_article(study_id: int, version_id: int, seed: int) -> _DrawnArticle:
    """Draw an article and count one more use of it.

    This takes more than one try only if others took an article's last use at the same moment, or if
    abandoned conversations have to return theirs first.
    """
    article = _try_to_draw(study_id, version_id, seed)
    if article is None and not remaining_uses(study_id, version_id):
        release_abandoned(study_id)
    while article is None and remaining_uses(study_id, version_id):
        article = _try_to_draw(study_id, version_id, seed)
    if article is None:
        raise ArticlesUsedUpError(
            f"Each article of the base has {MOST_USES} conversations of this study. Import a base with more."
        )
    return article


def _try_to_draw(study_id: int, version_id: int, seed: int) -> _DrawnArticle | None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT * FROM dialogues_take_article(%s, %s, %s, %s)", [study_id, version_id, seed, MOST_USES]
        )
        row = cursor.fetchone()
    if row is None:
        return None
    article, headline, sections, entities, configurations = row
    known = tuple(
        KnownEntity(name, shortened, summarized, tuple(facts))
        for name, shortened, summarized, facts in json.loads(entities)
    )
    return _DrawnArticle(article, ReadableArticle(headline, tuple(sections), known), configurations)


def is_used_up(study: Study) -> bool:
    """True if the study has reading sets and no article has a use left."""
    if study.knowledge_id is None or remaining_uses(study.pk, study.knowledge_id):
        return False
    release_abandoned(study.pk)
    return not remaining_uses(study.pk, study.knowledge_id)


def article_shortage(study: Study, wanted: int) -> str:
    """Message if the articles do not suffice for `wanted` conversations; empty if they do."""
    if study.knowledge_id is None:
        return ""
    articles = Article.objects.filter(version=study.knowledge_id).count()
    if wanted <= MOST_USES * articles:
        return ""
    return _(
        "%(wanted)d conversations are wanted, and the knowledge base has articles for %(room)d, %(most)d "
        "about each. Ask for fewer, or use a base with more articles."
    ) % {"wanted": wanted, "room": MOST_USES * articles, "most": MOST_USES}


@transaction.atomic
def release_abandoned(study_id: int) -> None:
    """Return the article uses of conversations that were abandoned or whose bot failed."""
    counted = Dialogue.objects.filter(study=study_id, reading_set__counts=True).exclude(ending="complete")
    ended = Assignment.objects.filter(study=study_id).exclude(outcome="")
    came_to_nothing = counted.filter(seats__assignment__in=ended).exclude(
        seats__assignment__outcome__in=("", Outcome.COMPLETE)
    )
    # Lock in one order, so that two processes that do this at once cannot deadlock.
    keys = came_to_nothing.order_by("pk").values_list("pk", flat=True).distinct()
    for dialogue in Dialogue.objects.select_for_update(of=("self",)).filter(pk__in=list(keys)).order_by("pk"):
        set_counted(dialogue, counts=False)


def remaining_uses(study_id: int, version_id: int) -> int:
    """Number of conversations of a study that can still begin with an article of this base version."""
    full = ArticleUse.objects.filter(study=study_id, article__version=version_id)
    uses = sum(full.values_list("uses", flat=True))
    return MOST_USES * Article.objects.filter(version=version_id).count() - uses


@transaction.atomic
def set_counted(dialogue: Dialogue, *, counts: bool) -> None:
    """Set whether a conversation counts as a use of its article (not if rejected or abandoned). Idempotent.

    Raises:
        ArticlesUsedUpError: it should count again, but the article has no use left.
    """
    reading_set = ReadingSet.objects.select_for_update().get(dialogue=dialogue)
    if reading_set.counts == counts:
        return
    uses = ArticleUse.objects.filter(study=dialogue.study_id, article=reading_set.article_id)
    if not uses.filter(uses__lt=MOST_USES if counts else MOST_USES + 1).update(
        uses=F("uses") + (1 if counts else -1)
    ):
        raise ArticlesUsedUpError(
            f"“{reading_set.article}” has {MOST_USES} other conversations by now, "
            "so this one cannot count again."
        )
    reading_set.counts = counts
    reading_set.save(update_fields=["counts"])
