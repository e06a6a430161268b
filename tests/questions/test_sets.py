"""Sets and their versions: what is stored stays, and a key means one set."""

from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction

from evaluation.questions import QUESTION_SETS, DeclarationError, QuestionSet, UnknownQuestionSetError
from tests.conftest import MakeStudy
from tests.questions.conftest import TONE
from turnwise.accounts.models import User
from turnwise.questions import question_sets
from turnwise.questions.models import OwnSet, SetVersion
from turnwise.questions.queries import offered, readable, sets_of
from turnwise.questions.question_sets import question_set, question_set_async
from turnwise.questions.services import add_version, create_set, name_of, set_shared

ROOT = Path(__file__).parents[2]


def changed(**fields: Any) -> dict[str, Any]:
    return TONE | fields


@pytest.mark.django_db
def test_each_version_keeps_its_own_declaration(rex: User) -> None:
    first = create_set(TONE, owner=rex)
    second = add_version(first.own_set_id, changed(title="Tone, again"), by=rex)

    assert (first.key, second.key) == ("tone-v1", "tone-v2")
    assert [question_set(each).title for each in ("tone-v1", "tone-v2")] == ["Tone of a reply", "Tone, again"]
    assert question_set("tone-v1") == QuestionSet.from_json(changed(key="tone-v1"))


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE questions_setversion SET declaration = '{}'",
        "UPDATE questions_setversion SET key = 'ssa'",
        "DELETE FROM questions_setversion",
    ],
)
def test_the_database_refuses_to_change_or_delete_a_version(rex: User, statement: str) -> None:
    create_set(TONE, owner=rex)

    refused = pytest.raises(IntegrityError, match="save a new version instead of changing tone-v1")
    with refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)

    assert SetVersion.objects.get().declaration["title"] == TONE["title"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("ssa", "belongs to a set that comes with Turnwise"),
        ("ssa-v2", "belongs to a set that comes with Turnwise"),
        ("tone", "belongs to another set"),
        ("tone-v9", "belongs to another set"),
        ("other-v1-v1", "looks like that of a version"),
        ("new", "is the address of another page"),
        ("a" * 35, "Use at most 34"),
        ("Tone!", "cannot be a key"),
    ],
)
def test_a_key_that_is_taken_or_cannot_be_is_refused(rex: User, ada: User, key: str, why: str) -> None:
    create_set(TONE, owner=ada)

    with pytest.raises(DeclarationError, match=why) as refused:
        create_set(changed(key=key), owner=rex)

    assert refused.value.field == "key"
    assert OwnSet.objects.count() == 1


def test_no_set_that_comes_with_turnwise_has_the_key_of_a_version() -> None:
    assert [key for key in QUESTION_SETS if name_of(key) != key] == []


@pytest.mark.django_db
def test_a_version_of_somebody_who_has_not_seen_the_newest_is_refused(rex: User) -> None:
    first = create_set(TONE, owner=rex)
    add_version(first.own_set_id, changed(title="Second"), by=rex, seen=1)

    with pytest.raises(
        DeclarationError, match="Version 2 was saved in the meantime; this page started from version 1"
    ):
        add_version(first.own_set_id, changed(title="Third"), by=rex, seen=1)
    with pytest.raises(DeclarationError, match="Version 2 says exactly this"):
        add_version(first.own_set_id, changed(title="Second"), by=rex)
    with pytest.raises(DeclarationError, match=r"“mood” is not the key of this set\. Use “tone”"):
        add_version(first.own_set_id, changed(key="mood"), by=rex)

    assert SetVersion.objects.count() == 2


_YES = {"value": True, "label": "Yes"}
_POLITE = TONE["questions"][0]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("questions", "field"),
    [
        ([], "questions"),
        ([_POLITE, _POLITE], "questions[1].key"),
        ([_POLITE | {"choices": [_YES]}], "questions[0].choices"),
        (
            [_POLITE | {"choices": [{"value": n, "label": str(n)} for n in range(200)]}],
            "questions[0].choices",
        ),
        (
            [_POLITE | {"asked_if": {"question": "why", "any_of": ["x"]}}, *TONE["questions"][1:]],
            "questions[0].asked_if.question",
        ),
        ([_POLITE | {"wording": "x" * 301}], "questions[0].wording"),
        ([_POLITE | {"onclick": "alert(1)"}], "questions[0].onclick"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_its_field(rex: User, questions: Any, field: str) -> None:
    with pytest.raises(DeclarationError) as refused:
        create_set(changed(questions=questions, translations={}), owner=rex)

    assert refused.value.field == field
    assert refused.value.cure
    assert not OwnSet.objects.exists()


@pytest.mark.django_db
def test_own_sets_are_private_until_shared_and_readable_where_a_study_asks_them(
    rex: User, mallory: User, ada: User, make_study: MakeStudy
) -> None:
    version = create_set(TONE, owner=mallory)
    assert [sets_of(each).count() for each in (mallory, rex, ada)] == [1, 0, 1]
    assert [readable(each, "tone-v1") for each in (mallory, rex)] == [True, False]

    set_shared(version.own_set_id, True)
    assert readable(rex, "tone-v1")
    groups = dict(offered(rex, QuestionSet.from_json(TONE).subjects))
    assert groups["Of others"] == [("tone-v1", "Tone of a reply (tone-v1)")]

    study = make_study(question_set="tone-v1")
    set_shared(version.own_set_id, False)
    assert not sets_of(rex).exists()
    assert readable(rex, "tone-v1")  # he sees a study that asks it
    assert study.question_set_title == "Tone of a reply (tone-v1)"


@pytest.mark.django_db(transaction=True)
async def test_a_set_is_found_on_the_event_loop(rex: User) -> None:
    from asgiref.sync import sync_to_async

    await sync_to_async(create_set)(TONE, owner=rex)

    assert (await question_set_async("tone-v1")).key == "tone-v1"
    assert (await question_set_async("ssa")).key == "ssa"
    with pytest.raises(UnknownQuestionSetError):
        await question_set_async("tone-v2")


@pytest.mark.django_db
def test_a_study_of_an_unknown_set_is_refused(make_study: MakeStudy) -> None:
    with pytest.raises(ValidationError, match="No question set is declared as 'tone-v1'"):
        make_study(question_set="tone-v1")


def test_the_platform_resolves_keys_in_one_place() -> None:
    bypassing = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "platform").rglob("*.py"))
        if path.parent.name != "questions"
        and any(
            line.startswith("from evaluation.questions import") and "question_set" in line.split()
            for line in path.read_text().replace(",", " ").splitlines()
        )
    ]

    assert not bypassing, (
        f"Take question_set from questions.resolving, which knows researchers' sets: {bypassing}"
    )
    assert question_sets.question_set("ssa") is QUESTION_SETS["ssa"]
