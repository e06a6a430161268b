from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Q, QuerySet

from turnwise.accounts.access import shared_with
from turnwise.accounts.models import User
from turnwise.contexts import versioned
from turnwise.knowledge.building import ArticleRow, Built, EntityRow
from turnwise.knowledge.models import Article, BaseVersion, Entity, KnowledgeBase


def bases_of(user: User | AnonymousUser) -> QuerySet[KnowledgeBase]:
    """Bases that this person may read and use: their own, shared ones, and shipped ones."""
    ships = Q(owner=None)
    return shared_with(
        user,
        KnowledgeBase.objects.all(),
        owner="owner",
        named="shared_with",
        everybody=Q(open_to_all=True) | ships,
    )


def editable_bases(user: User | AnonymousUser) -> QuerySet[KnowledgeBase]:
    """Bases that this person may share, and into which they may import new versions."""
    return versioned.editable(user, KnowledgeBase)


def versions_of(user: User | AnonymousUser) -> QuerySet[BaseVersion]:
    return versioned.versions_in(bases_of(user), BaseVersion)


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a base with its number of entities, and its budget if the base has one."""

    name: str
    entities: int
    budget: int | None


def topics(version: BaseVersion) -> list[Topic]:
    counted = dict(version.entities.order_by().values_list("topic").annotate(Count("pk")))
    names = sorted({*counted, *version.budgets})
    return [Topic(name, counted.get(name, 0), version.budgets.get(name)) for name in names]


def find_entities(version: BaseVersion, *, topic: str = "", text: str = "") -> QuerySet[Entity]:
    entities = version.entities.order_by("topic", "name")
    if topic:
        entities = entities.filter(topic=topic)
    if text:
        anywhere = Q(name__icontains=text) | Q(shortened__icontains=text) | Q(facts__icontains=text)
        entities = entities.filter(anywhere | Q(aliases__icontains=text))
    return entities


def articles_about(entity: Entity) -> QuerySet[Article]:
    return Article.objects.filter(version=entity.version_id, named__contains=[entity.number])


def built_from(version: BaseVersion) -> Built:
    """A stored version in the form in which it was imported."""
    entities = list(version.entities.all())
    names = {entity.number: entity.name for entity in entities}
    return Built(
        entities=[
            EntityRow("", e.name, e.topic, tuple(e.aliases), e.shortened, e.summarized, tuple(e.facts))
            for e in entities
        ],
        articles=[
            ArticleRow("", a.key, a.headline, tuple(a.sections), tuple(names[n] for n in a.named))
            for a in version.articles.all()
        ],
        configurations=version.configurations,
        budgets=version.budgets,
    )
