import json
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from turnwise.accounts.models import User
from turnwise.contexts import versioned
from turnwise.knowledge.building import Built
from turnwise.knowledge.files import content_hash, parse
from turnwise.knowledge.models import Article, BaseVersion, Entity, KnowledgeBase

OPEN_KNOWLEDGE = "open-knowledge"
SHIPPED = Path(__file__).parent / "data" / "open_knowledge.json"


def save_base(base: KnowledgeBase) -> KnowledgeBase:
    """Store a new or edited base.

    Raises:
        ValidationError: a value is invalid, or the owner has another base of that name.
    """
    return versioned.save(base)


@transaction.atomic
def share(base: KnowledgeBase, *, named: list[User], open_to_all: bool) -> None:
    """Set who may read a base and use it in studies, besides its owner and admins."""
    base.open_to_all = open_to_all
    base.save(update_fields=["open_to_all"])
    base.shared_with.set(named)


@transaction.atomic
def import_version(base: KnowledgeBase, built: Built, *, origin: str) -> BaseVersion:
    """Store a built base as the next version, all or nothing.

    Raises:
        ValidationError: the content has problems, or a version has exactly this content.
    """
    if not built.may_be_imported:
        raise ValidationError(_("The file has problems, so no version was made. Correct them first."))
    version = versioned.add_version(
        base.versions,
        base,
        content_hash(built),
        refusal=_("Version %(number)d has exactly this content, so no new one was made."),
        configurations=built.configurations,
        budgets=built.budgets,
        entity_count=len(built.entities),
        article_count=len(built.articles),
        origin=origin[:200],
    )
    _store(version, built)
    return version


def _store(version: BaseVersion, built: Built) -> None:
    numbers = {entity.name: number for number, entity in enumerate(built.entities, start=1)}
    Entity.objects.bulk_create(
        (
            Entity(
                version=version, number=number, name=row.name, topic=row.topic, aliases=list(row.aliases),
                shortened=row.shortened, summarized=row.summarized, facts=list(row.facts),
            )
            for number, row in enumerate(built.entities, start=1)
        ),
        batch_size=500,
    )  # fmt: skip
    Article.objects.bulk_create(
        (
            Article(
                version=version, number=number, key=row.key, headline=row.headline,
                sections=list(row.sections), named=[numbers[name] for name in row.named],
            )
            for number, row in enumerate(built.articles, start=1)
        ),
        batch_size=500,
    )  # fmt: skip


@transaction.atomic
def load_shipped() -> BaseVersion:
    """Load the shipped base for everybody. Safe to repeat: the newest text is loaded once."""
    text = SHIPPED.read_text(encoding="utf-8")
    about: dict[str, Any] = json.loads(text)["about"]
    base = versioned.shipped(
        KnowledgeBase,
        OPEN_KNOWLEDGE,
        title=about["title"],
        licence=about["licence"],
        description=about["description"],
    )
    built = parse(text)
    same = base.versions.filter(content_hash=content_hash(built)).first()
    return same or import_version(base, built, origin=SHIPPED.name)
