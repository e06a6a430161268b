"""Every ask of a study is compared, each by itself; scores to choose; the level of each study's intervals."""

import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from tests.comparisons.test_measured import plots
from tests.conftest import MakeStudy, start_dialogue, worker_of
from tests.planted import SignIn, add_exchange, add_label, bot_of, computed
from turnwise.accounts.models import User
from turnwise.bots.services import version_of
from turnwise.comparisons.measures import Measured
from turnwise.comparisons.scores import conversations, score_conversations
from turnwise.comparisons.side_by_side import MAX_SCORES, group_by_scale, selected_scores
from turnwise.dialogues.models import Dialogue
from turnwise.labels.models import Label
from turnwise.questions import question_sets
from turnwise.questions.question_sets import question_set
from turnwise.questions.services import create_set
from turnwise.studies.asks import About, AskSpec, Moment, Party
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

MOOD: dict[str, Any] = {
    "format": 1,
    "key": "mood",
    "title": "Mood",
    "subjects": ["turn", "dialogue", "response"],
    "source": "our own",
    "questions": [
        {
            "key": "mood", "wording": "How cheerful is it?", "kind": "scale",
            "scale": {"low": 1, "high": 5, "low_caption": "sad", "high_caption": "cheerful"},
        },
        {
            "key": "like", "wording": "What is it like?",
            "choices": [{"value": each, "label": each.title()} for each in "abcdefgh"],
        },
    ],
}  # fmt: skip
OF_REPLIES = AskSpec("mood-v1", About.PARTNER_TURN, Moment.EACH_TURN)
OF_WHOLES = AskSpec("mood-v1", About.DIALOGUE, Moment.AT_END)


@pytest.fixture(autouse=True)
def mood(rex: User) -> Iterator[None]:
    """A version is read once per process; the next test has another database."""
    question_sets.forget_question_sets()
    create_set(MOOD, owner=rex)
    yield
    question_sets.forget_question_sets()


def rated(study: Study, of_reply: tuple[int, str] | None, of_whole: tuple[int, str] | None) -> Dialogue:
    """A finished conversation with one reply, and what was said of it and of the whole."""
    dialogue = start_dialogue(study)
    add_exchange(dialogue, version_of(bot_of(dialogue), {"adapter": "scripted"}), text="Well", latency=10)
    at = timezone.now()
    for given, about in ((of_reply, About.PARTNER_TURN), (of_whole, About.DIALOGUE)):
        if given:
            subject: dict[str, Any] = {"dialogue": dialogue}
            if about == About.PARTNER_TURN:
                subject = {"turn": dialogue.turn_set.get(position=2)}
            Label.objects.create(
                study=study, rater=worker_of(dialogue), party=Party.CHATTER,
                ask=study.asks.get(question_set="mood-v1", about=about), question_set="mood-v1",
                answers={"mood": given[0], "like": given[1]}, created_at=at, changed_at=at, **subject,
            )  # fmt: skip
    Dialogue.objects.filter(pk=dialogue.pk).update(ending="complete", ended_at=at, due_1=[])
    return dialogue


@pytest.fixture
def one(make_study: MakeStudy) -> Study:
    """Asks for the mood of every reply and of the whole. Replies: 2 and 4; conversations: 5 and 3."""
    study = make_study({"ann": 9}, title="One", asks=[OF_REPLIES, OF_WHOLES], min_turns=2, max_turns=8)
    rated(study, (2, "a"), (5, "c"))
    rated(study, (4, "b"), (3, "c"))
    return study


@pytest.fixture
def two(make_study: MakeStudy) -> Study:
    """By a protocol whose intervals are of 90 %, asks for the mood of conversations only: 2 on average."""
    study = make_study(
        {"ann": 9},
        title="Two",
        asks=[OF_WHOLES],
        min_turns=2,
        max_turns=8,
        protocol="neural-chat-interactive",
    )
    for value in (1, 2, 3, 2, 1, 3):
        rated(study, None, (value, "d"))
    return study


def tables_of(page: str) -> list[tuple[str, list[tuple[str, str, list[str]]]]]:
    """Of each table of results its heading, and its rows: bot, study, scores."""
    parts = re.split(r"<h2>Results \d: ", " ".join(page.split()))[1:]
    row = r'<th scope="row">(\w+)<br><span class="small soft compared__study">(\w+)</span></th>(.*?)</tr>'
    return [
        (
            part.partition("</h2>")[0],
            [
                (bot, study, re.findall(r"<strong>([\d.]+)</strong>", cells))
                for bot, study, cells in re.findall(row, part.partition("</table>")[0])
            ],
        )
        for part in parts
    ]


def test_every_ask_is_in_the_table_of_its_subject(
    one: Study, two: Study, make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    both = [AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN), OF_WHOLES]
    third = make_study({"ann": 9}, title="Three", asks=both, min_turns=2, max_turns=8)
    dialogue = rated(third, None, (1, "a"))
    add_label(dialogue, position=2, answers={"sensible": True, "specific": True})
    studies = [one, two, third]
    for study in studies:
        computed(study)
    client, query = sign_in(rex), "&".join(f"study={each.pk}" for each in studies)

    page = client.get(f"/compare/?{query}&score=mood-v1.reply:mood&score=mood-v1.dialogue:mood").text
    rows = list(csv.DictReader(io.StringIO(client.get(f"/compare/studies.csv?{query}").text)))

    # Replies (2 + 4) / 2; conversations (5 + 3) / 2, 12 / 6 and 1.
    assert tables_of(page) == [
        ("Mood (mood-v1)", [("Ann", "One", ["3.0"])]),
        (
            "Mood (mood-v1), of whole conversations",
            [("Ann", "One", ["4.0"]), ("Ann", "Two", ["2.0"]), ("Ann", "Three", ["1.0"])],
        ),
        ("Sensibleness and specificity", [("Ann", "Three", ["100.0", "100.0", "100.0"])]),
    ]
    moods = [(row["study"], row["ask"], row["about"], row["value"], row["level"]) for row in rows
             if (row["question_set"], row["score"]) == ("mood-v1", "mood")]  # fmt: skip
    assert moods == [
        ("One", "0", "partner_turn", "3.0", "0.95"),
        ("One", "1", "dialogue", "4.0", "0.95"),
        ("Two", "0", "dialogue", "2.0", "0.9"),
        ("Three", "1", "dialogue", "1.0", "0.95"),
    ]
    assert len(rows) == 2 * 9 + 9 + 3 + 9
    assert "95\u00a0% intervals over conversations or contexts." in page
    assert (
        "Intervals of each study&#x27;s own level (95\u00a0%: “One”, “Three”; 90\u00a0%: “Two”) over" in page
    )


def test_many_scores_can_be_chosen_and_the_page_says_which_are_hidden(
    one: Study, two: Study, rex: User, sign_in: SignIn
) -> None:
    computed(one)
    client, address = sign_in(rex), f"/compare/?study={one.pk}"

    first = client.get(address).text
    all_nine = "".join(f"&score=mood-v1.dialogue:{key}" for key in _keys())
    chosen = client.get(address + all_nine).text

    assert "Scores: 6 of 9 shown" in first
    assert "Scores: 9 of 9 shown" in chosen
    # Of the replies the mood and two charts of five shares; of the conversations all eight shares.
    titles = [[line for panel in plot["panels"] for line in panel["series"]] for plot in plots(chosen)]
    assert titles == [
        ["How cheerful is it?"], ["What is it like? A", "What is it like? B", "What is it like? C"],
        ["What is it like? D", "What is it like? E"],
        ["How cheerful is it?"], ["What is it like? A", "What is it like? B", "What is it like? C"],
        ["What is it like? D", "What is it like? E", "What is it like? F"],
        ["What is it like? G", "What is it like? H"],
    ]  # fmt: skip
    (scale, shares, *_) = (plot["panels"][0] for plot in plots(chosen))
    assert (scale["low"], scale["high"], scale["axis"]) == (1, 5, "mean, points")
    assert (shares["low"], shares["high"], shares["axis"]) == (0, 100, "percent of labels")
    for source in re.findall(r'<img src="(/compare/[^"]+)"', chosen):
        assert client.get(source.replace("&amp;", "&")).status_code == 200


def _keys() -> list[str]:
    return [score.key for score in question_set("mood-v1").scores]


def test_history_separates_replies_and_whole_conversations(one: Study, rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)

    replies = client.get("/bots/ann/history/?questions=mood-v1").text
    wholes = client.get("/bots/ann/history/?questions=mood-v1.dialogue&score=mood").text

    def mood_of(page: str) -> list[float]:
        (points,) = (
            line["points"]
            for plot in plots(page)
            for line in plot["panels"][0]["lines"]
            if line["name"] == "How cheerful is it?"
        )
        return [point["value"] for point in points]

    assert mood_of(replies) == [3]
    assert mood_of(wholes) == [4]
    assert '<option value="mood-v1.dialogue" selected>Mood (mood-v1), of whole conversations' in wholes
    assert len(plots(replies)) == 3
    assert len(plots(wholes)) == 1
    # Where the marks lead: to conversations by the ask that was meant, the study's second.
    (point,) = plots(wholes)[0]["panels"][0]["lines"][0]["points"]
    assert point["href"] == f"/studies/{one.pk}/dialogues/?bot=ann&score=1.mood"


def test_history_has_the_intervals_of_each_study_s_report(
    one: Study, two: Study, rex: User, sign_in: SignIn
) -> None:
    result = computed(two).result
    assert result
    assert result["level"] == 0.9
    client = sign_in(rex)

    page = client.get("/bots/ann/history/?questions=mood-v1.dialogue&score=mood").text
    alone = client.get(f"/compare/human-likeness/?questions=mood-v1.dialogue&study={two.pk}").text

    (line,) = plots(page)[0]["panels"][0]["lines"]
    (reported,) = (
        cell
        for column, cell in zip(result["columns"], result["bots"][0]["cells"], strict=True)
        if column["key"] == "mood"
    )
    shown = line["points"][1]
    assert (shown["value"], shown["low"], shown["high"]) == pytest.approx(
        (2, reported["low"], reported["high"]), rel=1e-12
    )
    asked = Measured(question_set("mood-v1"), whole=True).selection
    wider = score_conversations(conversations([two.pk], asked), asked).cells["mood"]
    assert wider["low"] < shown["low"] < shown["high"] < wider["high"]
    assert (
        "Intervals of each study&#x27;s own level (95\u00a0%: “One”; 90\u00a0%: “Two”), "
        "computed as in the reports" in page
    )
    assert "There are no points to show yet" in alone


@pytest.mark.parametrize(
    ("wanted", "first", "shown"),
    [
        ((), (), "abcdef"),
        ((), ("h",), "abcdeh"),
        (("z",), (), "abcdef"),
        (("h", "b"), (), "bh"),
    ],
)
def test_a_few_scores_are_shown_by_default(
    wanted: tuple[str, ...], first: tuple[str, ...], shown: str
) -> None:
    assert selected_scores("abcdefgh", wanted, first=first) == list(shown)
    many = [str(n) for n in range(100)]
    assert len(selected_scores(many, many)) == MAX_SCORES


def test_scores_of_a_scale_share_charts_of_as_many_lines_as_there_are_colours() -> None:
    scales = dict.fromkeys("abde", (True, 0.0, 100.0)) | {"c": (False, 1.0, 7.0)}

    assert group_by_scale("abcde", scales) == [["a", "b", "d"], ["e"], ["c"]]
