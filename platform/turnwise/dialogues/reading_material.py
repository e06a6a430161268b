"""What each of the two who talk has to read beside the conversation. It is given once and never changes.

Which article a conversation is about, and the reading sets that follow for both seats.
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
    ReadingSets,
    Section,
    ToRead,
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


class ArticlesUsedUpError(Exception):
    """Each article of a base has as many conversations of the study as it may have; nothing was changed."""


class _Taken(NamedTuple):
    """What the function of the database gives (sql/take_article.sql)."""

    article: int
    to_read: ToRead
    configurations: str


def given(dialogue: Dialogue, version_id: int, *, seed: int) -> ReadingSets:
    """Draw an article and a configuration for a conversation, and note them: what seat 0 reads and seat 1.

    Two statements, in the caller's transaction. The same seed gives the same sets of the same article; which
    article it is depends on which are left, too.

    Raises:
        ArticlesUsedUpError: no article is left.
    """
    draw = Random(seed)
    taken = _taken(dialogue.study_id, version_id, seed)
    configuration = Configuration(draw.choice(taken.configurations))
    ReadingSet.objects.create(
        dialogue=dialogue, article_id=taken.article, configuration=configuration, seed=seed
    )
    return reading_sets(taken.to_read, configuration, draw)


def _taken(study_id: int, version_id: int, seed: int) -> _Taken:
    """An article with one more use.

    It takes more than one try only where others took the last place of an article at the same moment, or
    where conversations that came to nothing have to give theirs back first.
    """
    found = _try_to_take(study_id, version_id, seed)
    if found is None and not places_left(study_id, version_id):
        release_left(study_id)
    while found is None and places_left(study_id, version_id):
        found = _try_to_take(study_id, version_id, seed)
    if found is None:
        raise ArticlesUsedUpError(
            f"Each article of the base has {MOST_USES} conversations of this study. Import a base with more."
        )
    return found


def _try_to_take(study_id: int, version_id: int, seed: int) -> _Taken | None:
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
    return _Taken(article, ToRead(headline, tuple(sections), known), configurations)


def is_used_up(study: Study) -> bool:
    """Whether no conversation of a study with reading sets could begin."""
    if study.knowledge_id is None or places_left(study.pk, study.knowledge_id):
        return False
    release_left(study.pk)
    return not places_left(study.pk, study.knowledge_id)


def why_too_few(study: Study, wanted: int) -> str:
    """Why so many conversations cannot all have an article; empty if they can, or need none."""
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
def release_left(study_id: int) -> None:
    """Have conversations of which nothing came, as somebody left or the bot failed, no longer count."""
    counted = Dialogue.objects.filter(study=study_id, reading_set__counts=True).exclude(ending="complete")
    ended = Assignment.objects.filter(study=study_id).exclude(outcome="")
    came_to_nothing = counted.filter(seats__assignment__in=ended).exclude(
        seats__assignment__outcome__in=("", Outcome.COMPLETE)
    )
    # In one order, so that two who do this at once wait for each other and not crosswise.
    keys = came_to_nothing.order_by("pk").values_list("pk", flat=True).distinct()
    for dialogue in Dialogue.objects.select_for_update(of=("self",)).filter(pk__in=list(keys)).order_by("pk"):
        set_counted(dialogue, counts=False)


def places_left(study_id: int, version_id: int) -> int:
    """How many conversations of a study can still begin about articles of a base."""
    full = ArticleUse.objects.filter(study=study_id, article__version=version_id)
    taken = sum(full.values_list("uses", flat=True))
    return MOST_USES * Article.objects.filter(version=version_id).count() - taken


@transaction.atomic
def set_counted(dialogue: Dialogue, *, counts: bool) -> None:
    """Say whether a conversation is one of those of its article: not if rejected or left. Safe to repeat.

    Raises:
        ArticlesUsedUpError: it is to count again, and others have taken its place.
    """
    found = ReadingSet.objects.select_for_update().get(dialogue=dialogue)
    if found.counts == counts:
        return
    uses = ArticleUse.objects.filter(study=dialogue.study_id, article=found.article_id)
    if not uses.filter(uses__lt=MOST_USES if counts else MOST_USES + 1).update(
        uses=F("uses") + (1 if counts else -1)
    ):
        raise ArticlesUsedUpError(
            f"“{found.article}” has {MOST_USES} other conversations by now, so this one cannot count again."
        )
    found.counts = counts
    found.save(update_fields=["counts"])
