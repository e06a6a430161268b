"""The base that ships holds to the rules of the paper, and can be read together in every configuration."""

import json
from collections import Counter
from random import Random

import pytest

from turnwise.accounts.models import User
from turnwise.knowledge.files import parse
from turnwise.knowledge.models import KnowledgeBase
from turnwise.knowledge.reading_sets import Configuration, reading_sets
from turnwise.knowledge.services import SHIPPED, load_shipped
from turnwise.knowledge.texts import words

BUILT = parse(SHIPPED.read_text(encoding="utf-8"))
PAPER = {
    "Fashion", "Politics", "Books", "Sports", "General Entertainment", "Music", "Science & Technology",
    "Movies",
}  # fmt: skip


def test_it_has_no_problem_and_nothing_worth_a_look() -> None:
    assert (BUILT.problems, BUILT.notes) == ([], [])


def test_its_entities_are_spread_over_the_topics_of_the_paper() -> None:
    topics = Counter(entity.topic for entity in BUILT.entities)

    assert topics == dict.fromkeys(PAPER, 3)
    assert {len(entity.facts) for entity in BUILT.entities} == {10}
    for entity in BUILT.entities:
        assert len(set(entity.facts)) == 10
        assert 50 <= len(words(entity.shortened)) < len(words(entity.summarized)) <= 150, entity.name
        assert all(4 < len(words(fact)) < 60 and fact.endswith(".") for fact in entity.facts)


def test_its_articles_name_every_entity() -> None:
    assert len(BUILT.articles) == 12
    assert {name for article in BUILT.articles for name in article.named} == {e.name for e in BUILT.entities}
    for article in BUILT.articles:
        lengths = [len(words(section)) for section in article.sections]
        assert 600 <= sum(lengths) <= 1000
        assert max(lengths) - min(lengths) <= 40, article.key
        assert all(section.rstrip("”\"'")[-1] in ".!?" for section in article.sections)


def test_its_licence_is_stated() -> None:
    about = json.loads(SHIPPED.read_text(encoding="utf-8"))["about"]

    assert about["licence"] == "CC0 1.0"


@pytest.mark.django_db
def test_it_is_loaded_once_for_everybody(rex: User) -> None:
    version = load_shipped()

    assert load_shipped() == version
    assert KnowledgeBase.objects.get().owner is None
    for article in version.articles.all():
        for configuration in Configuration:
            first, second = reading_sets(article.to_read(), configuration, Random(1))
            assert len(first) == len(second) == (3 if configuration is Configuration.C else 7)
