"""A new study begins with what somebody wants to know, with what, and by whom."""

import re
from html import unescape
from itertools import groupby
from pathlib import Path

import pytest
from django.http import QueryDict
from django.test import Client

from evaluation.questions import SSA
from tests.planted import SignIn
from tests.studies.test_presets import sent
from turnwise.accounts.models import User
from turnwise.bots.services import register_bot
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSet
from turnwise.contexts.services import import_version, save_set
from turnwise.manual.templatetags.glossary import UnknownWordError, meaning_of
from turnwise.questions.services import create_set
from turnwise.studies.models import Study
from turnwise.studies.presets import PRESETS
from turnwise.studies.starting.starts import Choices, starts
from turnwise.studies.tasks import task_of, tasks

TEMPLATES = Path(__file__).parents[2] / "templates"


def links(page: str, part: str) -> set[str]:
    """Addresses of the links in the part of a page with this id."""
    found = re.search(rf'<(nav|section) id="{part}".*?</\1>', page, re.S)
    assert found
    return {unescape(each) for each in re.findall(r'<a href="([^"]+)"', found.group())}


@pytest.fixture
def researcher(rex: User, sign_in: SignIn) -> Client:
    """Researcher with a bot and a set of contexts, which some kinds of studies need."""
    register_bot(name="scripty", title="Scripty", adapter="scripted", configuration={"replies": ["Hm."]})
    context_set = save_set(ContextSet(name="some", title="Some", licence="CC0-1.0", owner=rex))
    import_version(context_set, [ContextRow(1, "a", ("Hi!",), "", "en", False, "")], origin="Written here")
    return sign_in(rex)


def test_every_task_and_every_published_protocol_declares_its_intention() -> None:
    """A new one of either is offered by this declaration alone."""
    assert [task.key for task in tasks() if not task.intentions] == []
    assert [preset.key for preset in PRESETS if preset.protocol and not preset.intentions] == []
    assert {s.task.key for s in starts()} == {task.key for task in tasks()}
    assert {s.preset.key for s in starts()} == {preset.key for preset in PRESETS}
    for task in tasks():
        assert {intention.way for intention in task.intentions} <= {"", *task.entry_points}
        assert set(task.entry_points) <= {intention.way for intention in task.intentions}


def test_the_answers_lead_to_all_combinations_and_to_no_others() -> None:
    offered, seen, todo = set[str](), set[str](), [""]
    while todo:
        choices = Choices(QueryDict(todo.pop()).dict())
        offered |= {start.address for start in choices.starts}
        ways = {option.address for question in choices.questions for option in question.options}
        pages = {way.partition("#")[0].removeprefix("?") for way in ways} - seen
        seen |= pages
        todo += pages

    assert offered == {start.address for start in starts()}


def test_the_page_offers_what_fits_the_answers(researcher: Client) -> None:
    pages = [researcher.get(f"/studies/new/{query}").text for query in ("", "?know=all&with=some&by=me")]
    assert "“Helpful, harmless and honest, 1 to 7”. A design of Turnwise." in pages[0]
    assert links(pages[0], "begin") == links(pages[1], "begin") == {s.address for s in Choices({}).starts}

    judged = researcher.get("/studies/new/?know=identity&with=live&by=machine").text
    assert judged.count('aria-current="true"><strong>') == 3
    assert "?know=identity&with=responses&by=machine#with" in links(judged, "with")
    assert links(judged, "begin") == {
        f"/studies/new/?protocol={key}&task=judging&know=identity&with=responses&by=machine"
        for key in ("r-u-a-robot-audit", "r-u-a-robot-user-study")
    }


# One walk for each design, by all kinds of raters in turn: who they are changes nothing else about a draft.
DESIGNS = groupby(starts(), key=lambda start: (start.task.key, start.preset.key, start.intention))
WALKS = [(by_whom := list(each))[number % len(by_whom)] for number, (_design, each) in enumerate(DESIGNS)]


def test_every_design_becomes_a_draft_with_its_choices(researcher: Client) -> None:
    for number, start in enumerate(WALKS):
        filled = sent(researcher.get(start.address).text) | {
            "title": f"Study {number}",
            "consent_text": "Yes?",
        }

        made = researcher.post(start.address, filled)

        assert made.status_code == 302, (start.address, made.text)
        study = Study.objects.get(title=f"Study {number}")
        assert (study.task, study.protocol, study.state) == (start.task.key, start.preset.protocol, "draft")
        assert made.url == start.task.first_page(study, start.intention.way, start.raters.key)
        recruited = [each.panel for each in study.panels.all()]
        assert recruited == ([] if start.raters.key in ("open", "machine", "nobody") else [start.raters.key])
        assert task_of(study).why_none_can_come(study) == ""  # what was proposed is complete
    assert {start.raters.key for start in WALKS} == {start.raters.key for start in starts()}


def test_the_form_hides_no_field_and_folds_what_the_raters_do_not_need(researcher: Client) -> None:
    shown = researcher.get("/studies/new/?task=judging&know=quality&with=responses&by=prolific").text
    machine = researcher.get("/studies/new/?task=judging&know=quality&with=responses&by=machine").text
    more = 'class="more"'

    names = [set(re.findall(r'name="([a-z_0-9-]+)"', page)) for page in (shown, machine)]
    assert names[0] == names[1]
    for name in ('name="pay_amount"', 'name="consent_text"'):
        assert shown.index(name) < shown.index(more)
        assert machine.index(more) < machine.index(name)
    assert "no pay · 15 minutes" in machine
    assert "A machine judge" in machine
    for task in tasks():
        page = researcher.get(f"/studies/new/?task={task.key}").text
        form = task.form(User.objects.get(username="rex"), Study(task=task.key))
        assert [name for name in form.form.fields if f'name="{name}"' not in page] == []


def test_no_closed_fold_hides_an_error(researcher: Client) -> None:
    fold = re.compile(r'<details class="fold"([^>]*)>(.*?)(?=<details|</details>)', re.S)
    queries = [
        *(f"task={task.key}" for task in tasks()),
        "task=judging&know=quality&with=responses&by=machine",
    ]
    for query in queries:
        address = f"/studies/new/?{query}"
        filled = sent(researcher.get(address).text)
        wrong = {name: value if name.endswith("_FORMS") else "é" * 9_000 for name, value in filled.items()}

        refused = researcher.post(address, wrong)

        assert refused.status_code == 422
        faulty = [attributes for attributes, inside in fold.findall(refused.text) if "errorlist" in inside]
        assert faulty
        assert [each for each in faulty if not each.endswith(" open")] == [], address


def test_questions_of_ones_own_are_chosen_or_made_first(researcher: Client, rex: User) -> None:
    address = "/studies/new/?task=judging&know=questions&with=responses&by=open"
    assert "You have no questions of your own" in researcher.get(address).text

    mine = create_set(SSA.to_json() | {"key": "mine", "title": "Mine"}, owner=rex)
    page = researcher.get(address).text
    assert "You have no questions of your own" not in page
    assert sent(page)["asks-0-question_set"] == mine.key


def test_words_are_explained_as_in_the_glossary() -> None:
    explained = {
        word
        for path in TEMPLATES.rglob("*.html")
        for words in re.findall(r"{% explain ([^%]+) %}", path.read_text())
        for word in re.findall(r'"([^"]+)"', words)
    }

    assert {"facet", "EI", "context", "Open MTB", "SSA", "battery", "gold item", "panel"} <= explained
    assert all(map(meaning_of, explained))
    assert meaning_of("ask").endswith("at one moment.")  # without the name of its class
    with pytest.raises(UnknownWordError, match=r"docs/glossary.md does not explain “singing”"):
        meaning_of("singing")
