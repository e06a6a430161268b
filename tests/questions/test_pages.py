"""The pages of question sets, without a browser: what is kept, what is refused, who may see it."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from evaluation.questions import QUESTION_SETS
from tests.planted import SignIn
from tests.questions.conftest import TONE
from turnwise.accounts.models import User
from turnwise.questions import services
from turnwise.questions.models import OwnSet, SetVersion
from turnwise.questions.services import create_set

pytestmark = pytest.mark.django_db

_INPUT = re.compile(
    r"<(input|textarea|select)\b([^>]*)>(?:([^<]*)</textarea>|((?:\s*<option.*?</option>)*))", re.S
)


def fields_of(page: str) -> dict[str, list[str]]:
    """What a browser without scripts would send of the draft's form."""
    form = page[page.index('id="draft"') : page.index("</form>", page.index('id="draft"'))]
    found: dict[str, list[str]] = {}
    for tag, attributes, text, options in _INPUT.findall(form):
        name = re.search(r'name="([^"]*)"', attributes)
        if not name:
            continue
        if tag == "select":
            chosen = re.search(r'value="([^"]*)" selected', options)
            first = re.search(r'value="([^"]*)"', options)
            value = (chosen or first)[1] if first else ""  # one of the two
        elif tag == "textarea":
            value = text.removeprefix("\n")
        elif 'type="checkbox"' in attributes and "checked" not in attributes:
            continue
        else:
            given = re.search(r'value="([^"]*)"', attributes)
            value = given[1] if given else "on"
        found.setdefault(unescape(name[1]), []).append(unescape(value))
    return found


@pytest.fixture
def client(rex: User, sign_in: SignIn) -> Client:
    return sign_in(rex)


def taken(client: Client, page: str, step: str, address: str = "/questions/new/", /, **changes: Any) -> str:
    """The page after a step of somebody who changed some fields."""
    sent = fields_of(page) | changes | {"do": step}
    answer = client.post(address, sent, follow=True)
    assert answer.status_code in (200, 422), answer.content
    return answer.content.decode()


@pytest.mark.parametrize("key", sorted(QUESTION_SETS))
def test_a_copy_of_a_shipped_set_asks_the_very_same(client: Client, key: str) -> None:
    page = client.get(f"/questions/new/?from={key}").content.decode()

    taken(client, page, "save", key=[f"{key}-copy"], title=[QUESTION_SETS[key].title])

    stored = SetVersion.objects.get().declaration
    assert stored == QUESTION_SETS[key].to_json() | {"key": f"{key}-copy-v1"}


def test_steps_keep_what_was_written(client: Client) -> None:
    page = client.get("/questions/new/").content.decode()
    page = taken(client, page, "add:questions", **{"questions.0.wording": ["Polite?"], "title": ["<b>"]})
    page = taken(client, page, "add:questions.1.choices", **{"questions.1.kind": ["several"]})
    page = taken(client, page, "up:questions.1")
    page = taken(client, page, "remove:questions.0.choices.0")

    fields = fields_of(page)
    assert fields["title"] == ["<b>"]
    assert "<b>" not in page
    assert fields["questions.1.wording"] == ["Polite?"]
    assert fields["questions.0.kind"] == ["several"]
    assert "questions.0.choices.1.label" in fields
    assert "questions.0.choices.2.label" not in fields


def test_a_condition_follows_its_question_and_is_refused_where_it_would_look_ahead(client: Client) -> None:
    page = client.get("/questions/new/?from=ssa").content.decode()
    page = taken(client, page, "up:questions.1")
    assert fields_of(page)["questions.0.asked_if.question"] == fields_of(page)["questions.1.id"]

    page = taken(client, page, "save", key=["mine"])
    assert "“sensible” does not come before this question." in unescape(page)
    assert not SetVersion.objects.exists()

    taken(client, taken(client, page, "down:questions.0"), "save", key=["mine"])
    assert SetVersion.objects.get().questions[1]["asked_if"] == {"question": "sensible", "any_of": [True]}


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"title": [""]}, "title", "It is empty."),
        ({"key": ["ssa"]}, "key", "“ssa” belongs to a set that comes with Turnwise."),
        ({"subjects[]": ["cat"]}, "", "subjects"),
        ({"questions.0.key": ["rater"]}, "questions-0-key", "“rater” is a column of every export."),
        ({"questions.0.scale.low": ["9"]}, "questions-0-scale-high", "7 is not above the lowest number, 9."),
        (
            {"questions.0.scale.low": ["-200"]},
            "questions-0-scale-high",
            "The scale has 208 numbers; 50 is the most.",
        ),
        ({"questions.0.scale.low": ["one"]}, "questions-0-scale-low", "“one” is not a whole number."),
        (
            {"questions.0.kind": ["dance"]},
            "questions-0-kind",
            "“dance” cannot be chosen. Use one, scale, several or text.",
        ),
        ({"scores.0.terms[]": ['["i1"]']}, "scores-0-terms", "One of its questions is gone."),
        ({"scores.0.terms[]": ["{"]}, "scores-0-terms", "One of its questions is gone."),
    ],
)
def test_an_error_stands_at_its_field(client: Client, changes: Any, field: str, said: str) -> None:
    page = client.get("/questions/new/?from=likert").content.decode()

    page = unescape(taken(client, page, "save", **({"key": ["mine"]} | changes)))

    assert said in page
    if field:
        assert f'id="{field}-error"' in page
    assert not SetVersion.objects.exists()


def test_all_that_is_wrong_is_said_at_once_each_with_its_field(client: Client) -> None:
    page = client.get("/questions/new/?from=likert").content.decode()
    wrong = {
        "key": ["My set"], "title": [""], "questions.0.scale.low": ["one"], "questions.1.wording": [" "],
        "questions.1.scale.high": ["0"], "scores.0.terms[]": ["{"], "scores.1.key": [""],
    }  # fmt: skip

    page = unescape(taken(client, page, "save", **wrong))

    assert "Not saved yet. 7 things need to be fixed:" in page
    fields = (
        "title", "key", "questions-0-scale-low", "questions-1-wording", "questions-1-scale-high",
        "scores-0-terms", "scores-1-key",
    )  # fmt: skip
    places = [page.index(f'<li><a href="#{field}">') for field in fields]
    assert places == sorted(places)  # as on the page
    assert re.search(r'id="title"[^>]* autofocus', page)
    assert all(f'id="{field}-error"' in page and f'id="{field}"' in page for field in fields)
    assert not SetVersion.objects.exists()


def test_a_number_that_is_none_hides_nothing_and_invents_nothing(client: Client) -> None:
    """What depends on an answer of that question is not called wrong because the number stands in."""
    page = client.get("/questions/new/?from=likert").content.decode()

    page = unescape(taken(client, page, "save", key=["mine"], **{"questions.0.scale.low": ["one"]}))

    assert "Not saved yet. One thing needs to be fixed:" in page


def test_every_subject_can_be_previewed(client: Client, rex: User) -> None:
    create_set(TONE | {"subjects": ["turn", "response", "dialogue", "pair", "context"]}, owner=rex)
    address = "/questions/keys/tone-v1/worker/"

    def shown(query: str) -> dict[str, Any]:
        page = client.get(address + query).content.decode()
        found: dict[str, Any] = json.loads(page.split('id="preview-settings"')[1].split(">")[1].split("<")[0])
        return found

    assert [shown(f"?about={each}")["about"] for each in ("turn", "dialogue", "response", "pair")] == [
        "turn", "dialogue", "response", "pair"
    ]  # fmt: skip
    assert len(shown("?about=pair")["item"]["sides"]) == 2
    assert len(shown("?about=dialogue")["item"]["context"]) > len(shown("?about=turn")["item"]["context"])
    assert shown("?about=weather")["about"] == shown("")["about"] == "turn"
    for page in ("/questions/tone/", "/questions/tone/edit/"):
        assert ">pairs to choose from</option>" in client.get(page).content.decode()


def test_an_archived_set_leaves_the_lists_and_comes_back(
    client: Client, rex: User, mallory: User, sign_in: SignIn
) -> None:
    create_set(TONE, owner=rex)
    services.set_shared(OwnSet.objects.get().pk, True)
    assert sign_in(mallory).post("/questions/tone/archive/", {"archived": "yes"}).status_code == 404

    page = client.post("/questions/tone/archive/", {"archived": "yes"}, follow=True).content.decode()
    assert "Nothing is lost." in page
    assert "/questions/tone/" not in client.get("/questions/").content.decode()
    assert "/questions/tone/" in client.get("/questions/?show=archived").content.decode()
    assert "tone-v1" not in client.get("/studies/new/?task=conversation").content.decode()
    assert client.get("/questions/keys/tone-v1/").status_code == 200  # studies that ask it go on

    client.post("/questions/tone/archive/", {"archived": "no"})
    assert "/questions/tone/" in client.get("/questions/").content.decode()
    assert "tone-v1" in client.get("/studies/new/?task=conversation").content.decode()


@pytest.mark.parametrize(
    "sent",
    [
        {"questions": "x"},
        {"questions.0": "x", "questions.0.key": "y"},
        {"questions.0.id": '"><script>'},
        {"questions.0.choices.label": "x"},
        {".".join("a" * 3000): "x"},
    ],
)
def test_what_no_page_sends_is_refused(client: Client, sent: dict[str, str]) -> None:
    assert client.post("/questions/new/", sent | {"do": "save"}).status_code in (400, 422)
    assert client.post("/questions/preview/", sent).status_code in (200, 400)
    for step in ("add:cats", "up:questions.7", "remove:scores", "up:questions.0.choices.1", "x", ":"):
        assert client.post("/questions/new/", {"do": step}).status_code == 200


def test_script_in_captions_stays_text(client: Client) -> None:
    evil = "</script><script>alert(1)</script>"
    page = client.get("/questions/new/").content.decode()
    changes = {"key": ["mine"], "title": [evil], "source": ["us"], "questions.0.key": ["q"]}
    changes |= {"questions.0.wording": [evil], "questions.0.choices.0.label": [evil]}

    taken(client, page, "save", **changes)

    for path in (
        "/questions/",
        "/questions/mine/",
        "/questions/mine/edit/",
        "/questions/keys/mine-v1/worker/",
    ):
        page = client.get(path).content.decode()
        assert "alert(1)" in page
        assert "<script>alert" not in page


def test_json_comes_out_as_it_went_in(client: Client) -> None:
    made = client.post("/questions/import/", {"text": json.dumps(TONE)}, follow=True)
    assert "is saved as tone-v1" in made.content.decode()

    stored = client.get("/questions/keys/tone-v1/questions.json")
    assert stored["Content-Disposition"] == 'attachment; filename="tone-v1.json"'
    again = json.dumps(stored.json() | {"title": "Tone, again"})
    assert client.post("/questions/tone/import/", {"text": again}).status_code == 302
    assert [each.key for each in SetVersion.objects.order_by("number")] == ["tone-v1", "tone-v2"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "This is not JSON"),
        ("[1]", "is not a JSON object"),
        (json.dumps(TONE | {"format": 9}), "9 cannot be read. This version reads 1."),
        (json.dumps(TONE | {"questions": []}), "questions: there are 0; 1 is the fewest."),
        ("[" * 50_000, "This is not JSON"),
        ("", "This is not JSON"),
    ],
)
def test_a_file_that_declares_nothing_is_refused(client: Client, text: str, said: str) -> None:
    answer = client.post("/questions/import/", {"text": text})

    assert answer.status_code == 422
    assert said in unescape(answer.content.decode())
    assert not SetVersion.objects.exists()


def test_what_the_editor_cannot_hold_is_said_before_it_is_lost(client: Client, rex: User) -> None:
    mixed = [{"value": 1, "label": "One"}, {"value": "x", "label": "Other"}]
    question = {"key": "q", "wording": "Which?", "choices": mixed}
    create_set(TONE | {"questions": [question], "translations": {}}, owner=rex)

    assert (
        "This declaration says more than this page can show"
        in client.get("/questions/tone/edit/").content.decode()
    )


def test_the_scores_that_follow_can_be_written_out_and_changed(client: Client) -> None:
    page = client.get("/questions/new/").content.decode()
    changes = {"key": ["mine"], "title": ["Mine"], "source": ["us"]}
    changes |= {"questions.0.key": ["polite"], "questions.0.wording": ["Polite?"]}
    page = taken(client, page, "scores", **changes)
    assert fields_of(page)["scores.0.key"] == ["polite"]

    taken(client, page, "save", **{"scores.0.title": ["Politeness"]})

    (score,) = SetVersion.objects.get().declaration["scores"]
    assert (score["title"], score["terms"]) == ("Politeness", [{"question": "polite", "choice": True}])


def test_translations_stay_with_their_texts(client: Client, rex: User) -> None:
    create_set(TONE, owner=rex)
    edit = "/questions/tone/edit/"
    page = client.get(edit).content.decode()
    page = taken(client, page, "down:questions.0", edit)
    changes = {"questions.1.wording": ["Is it courteous?"]}

    taken(client, page, "save", edit, **changes)

    assert SetVersion.objects.get(number=2).declaration["translations"] == {
        "zh": {"Is it courteous?": "它礼貌吗?"}
    }
    worker = client.get("/questions/keys/tone-v2/worker/?language=zh").content.decode()
    assert json.dumps("它礼貌吗?") in worker


def test_what_keeps_a_draft_from_being_previewed_is_called_as_in_the_editor(client: Client) -> None:
    empty = fields_of(client.get("/questions/new/").content.decode())

    page = unescape(client.post("/questions/preview/", empty | {"key": ["My set"]}).content.decode())

    assert "<strong>Key</strong>: “My set” cannot be a key." in page
    assert "<strong>Question 1, Wording</strong>: It is empty. Write what people are to read." in page
    assert "questions[0]" not in page
