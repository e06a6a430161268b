"""Reading sets of a conversation: whose they are, from what they come, and how often an article is taken."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from tests.conftest import MakeStudy, enter, start_dialogue
from tests.knowledge.bases import base_file, make_base
from turnwise.accounts.models import User
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.crowd.models import Outcome
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.places.ending import complete
from turnwise.dialogues import reading_material
from turnwise.dialogues.models import ArticleUse, Dialogue, Material, ReadingSet
from turnwise.dialogues.reading_material import ArticlesUsedUpError
from turnwise.dialogues.services import SeatOccupant, create_dialogue
from turnwise.knowledge.models import BaseVersion
from turnwise.knowledge.reading_sets import Configuration, reading_sets
from turnwise.studies.models import Study


@pytest.fixture
def known(rex: User) -> BaseVersion:
    return make_base(rex, base_file(entities=4, articles=2))


@pytest.fixture
def reader(make_study: MakeStudy, known: BaseVersion) -> Study:
    study = make_study(
        {"scripty": 8}, knowledge=known, material="# Rules\nBe kind.", min_turns=2, max_turns=8
    )
    study.study_bots.update(target=100)  # as a researcher may later, who then runs out of articles
    return study


def pair(study: Study) -> Dialogue:
    """Two people who talk with each other."""
    first, second = (SeatOccupant(assignment=assign(enter(study).pk)) for _ in range(2))
    return create_dialogue(study, first, second, now=timezone.now())


def read_by(dialogue: Dialogue, seat: int) -> list[tuple[str, str, list[str]]]:
    texts = Material.objects.filter(seat__dialogue=dialogue, seat__number=seat).order_by("number")
    return [(each.key, each.text, each.points) for each in texts]


@pytest.mark.django_db
def test_two_people_get_the_reading_sets_of_the_seed(reader: Study) -> None:
    for dialogue in (pair(reader), pair(reader), pair(reader)):
        made = ReadingSet.objects.get(dialogue=dialogue)
        draw = Random(made.seed)
        assert draw.choice("ABCD") == made.configuration
        expected = reading_sets(made.article.to_read(), Configuration(made.configuration), draw)
        for seat in (0, 1):
            sections = [(each.key, each.text, list(each.points)) for each in expected[seat]]
            assert read_by(dialogue, seat) == [*sections, ("S1", "Be kind.", [])]


@pytest.mark.django_db
def test_an_article_is_drawn_and_stored_in_two_statements(
    reader: Study, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    dialogue = Dialogue.objects.create(
        study=reader, started_at=timezone.now(), opening_turns=0, min_turns=2, max_turns=8
    )

    with django_assert_num_queries(2):
        reading_material.draw_reading_sets(dialogue, reader.knowledge_id or 0, seed=3)


@pytest.mark.django_db
def test_a_bot_reads_only_where_the_study_lets_bots_read(reader: Study) -> None:
    dialogue = start_dialogue(reader)

    assert read_by(dialogue, 0) == []
    assert [key for key, *_ in read_by(dialogue, 1)][:3] == ["FS1", "FS2", "FS3"]
    Study.objects.update(bots_read=True)
    dialogue = start_dialogue(Study.objects.get(pk=reader.pk))
    keys = [[key for key, *_ in read_by(dialogue, seat)] for seat in (0, 1)]
    assert keys[1] == keys[0]
    assert keys[0][:3] == ["FS1", "FS2", "FS3"]
    assert keys[0][-1] == "S1"


@pytest.mark.django_db
def test_an_article_is_used_at_most_four_times(reader: Study, make_study: MakeStudy) -> None:
    dialogues = [start_dialogue(reader) for _ in range(8)]
    assert sorted(ArticleUse.objects.values_list("uses", flat=True)) == [4, 4]
    with pytest.raises(ArticlesUsedUpError, match="Each article of the base has 4 conversations"):
        start_dialogue(reader)
    assert Dialogue.objects.count() == 8

    for _ in range(2):  # safe to repeat
        reading_material.set_counted(dialogues[0], counts=False)
    assert reading_material.remaining_uses(reader.pk, reader.knowledge_id or 0) == 1
    ninth = start_dialogue(reader)
    assert ninth.reading_set.article == dialogues[0].reading_set.article
    with pytest.raises(ArticlesUsedUpError, match="has 4 other conversations by now"):
        reading_material.set_counted(dialogues[0], counts=True)
    reading_material.set_counted(ninth, counts=False)
    reading_material.set_counted(dialogues[0], counts=True)
    assert reading_material.remaining_uses(reader.pk, reader.knowledge_id or 0) == 0

    other = make_study({"another": 8}, knowledge=reader.knowledge, min_turns=2, max_turns=8)
    start_dialogue(other)  # counts for itself
    with pytest.raises(IntegrityError, match="article_is_not_overused"), transaction.atomic():
        ArticleUse.objects.update(uses=5)


@pytest.mark.django_db
def test_all_articles_and_configurations_come_up(reader: Study) -> None:
    made = [start_dialogue(reader).reading_set for _ in range(8)]

    assert Counter(each.article.number for each in made) == {1: 4, 2: 4}
    drawn = {Random(seed).choice("ABCD") for seed in range(50)}
    assert drawn == set("ABCD")


@pytest.mark.django_db
def test_a_worker_is_refused_while_all_articles_are_used_up(reader: Study, client: Client) -> None:
    dialogues = [start_dialogue(reader) for _ in range(8)]
    begun = assign(enter(reader).pk).participation
    client.cookies[COOKIE] = signed(begun)

    refused = client.post(f"/s/{reader.code}/start/")
    assert (refused.status_code, "All places are taken" in refused.content.decode()) == (409, True)

    gone = dialogues[0].participation
    assert gone
    complete(gone.assignment.pk, Outcome.BOT_FAILED, now=timezone.now())
    assert client.post(f"/s/{reader.code}/start/").status_code == 302
    assert begun.assignment.seat.dialogue.reading_set.article == dialogues[0].reading_set.article


@pytest.mark.django_db
def test_a_study_cannot_want_more_conversations_than_its_articles_allow(reader: Study) -> None:
    assert reading_material.article_shortage(reader, 8) == ""
    assert (
        "9 conversations are wanted, and the knowledge base has articles for 8"
        in reading_material.article_shortage(reader, 9)
    )


@pytest.mark.django_db(transaction=True)
def test_concurrent_draws_never_exceed_the_limit_of_an_article(reader: Study) -> None:
    dialogues = [
        Dialogue.objects.create(
            study=reader, started_at=timezone.now(), opening_turns=0, min_turns=2, max_turns=8
        )
        for _ in range(12)
    ]

    def take(dialogue: Dialogue) -> bool:
        try:
            reading_material.draw_reading_sets(
                dialogue, reader.knowledge_id or 0, seed=1
            )  # all want the same article first
        except ArticlesUsedUpError:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(6) as threads:
        taken = list(threads.map(take, dialogues))

    assert Counter(taken) == {True: 8, False: 4}
    assert list(ArticleUse.objects.values_list("uses", flat=True)) == [4, 4]
    assert ReadingSet.objects.count() == 8


@pytest.mark.django_db
def test_the_form_offers_the_bases_that_the_user_may_use(
    make_study: MakeStudy, known: BaseVersion, mallory: User
) -> None:
    theirs = make_base(mallory)
    draft = make_study()
    Study.objects.filter(pk=draft.pk).update(state=Study.State.DRAFT)
    client = Client()
    client.force_login(draft.owner)

    shown = client.get(f"/studies/{draft.pk}/edit/").content.decode()

    assert f'<option value="{known.pk}">Small base, version 1</option>' in shown
    assert f'<option value="{theirs.pk}">' not in shown
