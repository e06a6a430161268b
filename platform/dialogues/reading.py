"""Which article a conversation is about, and the reading sets that follow for both seats."""

from random import Random

from django.db import connection, transaction
from django.db.models import F

from dialogues.models import MOST_USES, ArticleUse, Dialogue, ReadingSet
from knowledge.models import Article, BaseVersion
from knowledge.reading_sets import Configuration, ReadingSets, reading_sets


class ArticlesUsedUpError(Exception):
    """Each article of a base has as many conversations of the study as it may have; nothing was changed."""


@transaction.atomic
def given(dialogue: Dialogue, version_id: int, *, seed: int) -> ReadingSets:
    """Draw an article and a configuration for a conversation, and note them: what seat 0 reads and seat 1.

    The same seed gives the same sets of the same article; which article it is depends on which are left, too.

    Raises:
        ArticlesUsedUpError: no article is left.
    """
    draw = Random(seed)
    version = BaseVersion.objects.get(pk=version_id)
    configuration = Configuration(draw.choice(version.configurations))
    article = Article.objects.get(pk=_taken(dialogue.study_id, version_id, seed))
    ReadingSet.objects.create(dialogue=dialogue, article=article, configuration=configuration, seed=seed)
    return reading_sets(article.to_read(), configuration, draw)


def _taken(study_id: int, version_id: int, seed: int) -> int:
    """An article with one more use.

    It takes more than one try only where others took the last place of an article at the same moment.
    """
    with connection.cursor() as cursor:
        while places_left(study_id, version_id):
            cursor.execute(
                "SELECT dialogues_take_article(%s, %s, %s, %s)", [study_id, version_id, seed, MOST_USES]
            )
            (found,) = cursor.fetchone()
            if found is not None:
                return int(found)
    raise ArticlesUsedUpError(
        f"Each article of the base has {MOST_USES} conversations of this study. Import a base with more."
    )


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
