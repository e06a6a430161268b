"""The two files of Topical-Chat: what comes in as whose, what the report makes of it, the same out again."""

import json
from collections import Counter
from io import BytesIO
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from evaluation.report.bundles.recomputation import recompute
from tests.chatbots.knowledge.topical_chat import PARTS, SHARED, published
from tests.conftest import MakeStudy
from tests.planted import SignIn, computed, figures
from tests.transcripts.imports import import_draft
from turnwise.accounts.models import User
from turnwise.crowd.models import Worker
from turnwise.dialogues.models import Dialogue, Material, TranscriptImport
from turnwise.exports import published_formats
from turnwise.labels.models import Label
from turnwise.studies.asks import About, AskSpec, Moment, Party
from turnwise.studies.models import Study
from turnwise.transcripts.importers import Checked, Limits, Problem, Source, checked
from turnwise.transcripts.importing import upload
from turnwise.transcripts.storing import import_requested
from turnwise.transcripts.undoing import undo

ASKS = [
    AskSpec("topical-chat-own", About.OWN_TURN, Moment.WAITING),
    AskSpec("topical-chat-partner", About.PARTNER_TURN, Moment.WAITING),
    AskSpec("topical-chat-conversation", About.DIALOGUE, Moment.AT_END),
]
PEOPLE = {"agent_1": "", "agent_2": ""}


def said(agent: str, message: str, sentiment: str, sources: list[str], rating: str) -> dict[str, Any]:
    told = {"agent": agent, "message": message, "sentiment": sentiment}
    return told | {"knowledge_source": sources, "turn_rating": rating}


def factual(lead: str) -> dict[str, Any]:
    return {
        "FS1": {"entity": "Tea", lead: "Tea is a drink.", "fun_facts": ["It was money once.", "=1+1"]},
        "FS2": {"entity": "Milk", lead: "Milk is white.", "fun_facts": []},
    }


TALK = {
    "article_url": "https://example.org/tea",
    "config": "B",
    "content": [
        said("agent_2", "Tea? ", "Curious to dive deeper", ["AS1", "FS1"], "Good"),
        said("agent_1", "<b>Never</b>", "Angry", ["Personal Knowledge"], ""),
        said("agent_2", "Bye", "Sad", ["FS2", "Personal Knowledge"], "Poor"),
    ],
    "conversation_rating": {"agent_1": "Not Good", "agent_2": "Excellent"},
}
READ = {
    "config": "B",
    "agent_1": factual("shortened_wiki_lead_section"),
    "agent_2": factual("summarized_wiki_lead_section"),
    "article": {"url": "https://example.org/tea", "headline": "All tea", "AS1": "One.", "AS2": "Two."},
}


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    return make_study(asks=ASKS, opening_speaker="human", opening_text="", min_turns=20, max_turns=60)


def files(talks: dict[str, Any], sets: dict[str, Any]) -> tuple[BytesIO, BytesIO]:
    return BytesIO(json.dumps(talks).encode()), BytesIO(json.dumps(sets).encode())


def brought_in(study: Study, talks: dict[str, Any], sets: dict[str, Any]) -> TranscriptImport:
    conversations, beside = files(talks, sets)
    draft = upload(study, conversations, name="train.json", by=study.owner, beside=beside)
    assert draft.format == "topical-chat"
    return import_draft(draft.pk, systems=PEOPLE, scripted_opening=False)


def out(study: Study) -> tuple[dict[str, Any], dict[str, Any]]:
    conversations = json.loads("".join(published_formats.topical_chat_conversations(study)))
    return conversations, json.loads("".join(published_formats.topical_chat_reading_sets(study)))


@pytest.mark.django_db(transaction=True)
def test_each_annotation_belongs_to_its_author_and_exports_are_unchanged(
    study: Study, rex: User, sign_in: SignIn, tmp_path_factory: pytest.TempPathFactory
) -> None:
    done = brought_in(study, {"t_1": TALK}, {"t_1": READ})

    # Three own annotations, two ratings of turns, two of the whole; the missing rating is told.
    assert (done.conversations, done.turns, done.labels, done.left_out) == (1, 3, 7, 1)
    assert set(Label.objects.values_list("party", flat=True)) == {Party.OUTSIDE}
    opener, other = Worker.objects.filter(seats__dialogue__study=study).order_by("seats__number")
    by = {
        (label.question_set[13:], label.turn.position if label.turn else None, label.rater): label.answers
        for label in Label.objects.select_related("turn", "rater")
    }
    assert by == {
        ("own", 0, opener): {"sentiment": "Curious to dive deeper", "source": ["FS1", "AS1"]},
        ("own", 1, other): {"sentiment": "Angry", "source": ["Personal Knowledge"]},
        ("own", 2, opener): {"sentiment": "Sad", "source": ["FS2", "Personal Knowledge"]},
        ("partner", 0, other): {"quality": 4},
        ("partner", 2, other): {"quality": 1},
        ("conversation", None, opener): {"quality": 5},
        ("conversation", None, other): {"quality": 2},
    }
    assert out(study) == ({"t_1": TALK}, {"t_1": READ})
    read = Material.objects.filter(seat__number=0).values_list("key", "heading", "variant")
    assert list(read) == [
        ("FS1", "Tea", "summarized"), ("FS2", "Milk", "summarized"), ("AS1", "All tea", ""), ("AS2", "", ""),
    ]  # fmt: skip

    result = figures(computed(study))
    assert [cell["value"] for cell in result["bots"][0]["cells"] if cell["value"] is not None]
    archive = tmp_path_factory.mktemp("bundle") / "study.zip"
    call_command("bundle", str(study.pk), output=archive)
    assert recompute(archive).differences == []
    browser = sign_in(rex)
    assert f"/studies/{study.pk}/conversations.json" in browser.get(f"/studies/{study.pk}/").content.decode()
    downloaded = b"".join(browser.get(f"/studies/{study.pk}/reading_sets.json"))
    assert json.loads(downloaded) == {"t_1": READ}
    page = browser.get(f"/dialogues/{Dialogue.objects.get().public_id}/").content.decode()
    assert "&lt;b&gt;Never" in page
    assert "It was money once." in page
    undo(done.pk, by=rex)
    assert not Label.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_page_shows_both_files_before_anything_is_stored(
    study: Study, rex: User, sign_in: SignIn
) -> None:
    browser = sign_in(rex)
    broken = {"t_1": READ, "t_9": READ}
    talks, sets = (
        SimpleUploadedFile(name, file.read())
        for name, file in zip(("c.json", "r.json"), files({"t_1": TALK, "t_2": TALK}, broken), strict=True)
    )

    answer = browser.post(f"/studies/{study.pk}/imports/upload/", {"file": talks, "reading_sets": sets})

    page = browser.get(answer.url).content.decode()
    assert "c.json + r.json" in page
    assert "no reading set is of it" in page
    assert "“t_9” is of no conversation" in page
    assert "agent_2 did not rate 1 turn of the other: 2" in page.replace("&#x27;", "'")
    assert not Dialogue.objects.exists()
    browser.post(f"{answer.url}confirm/", {"system-0": "", "system-1": "", "language": "en"})
    import_requested(TranscriptImport.objects.get().pk)
    assert [each.source_id for each in Dialogue.objects.all()] == ["t_1"]


def _comparable(talks: dict[str, Any]) -> dict[str, Any]:
    """Turns of the same speaker joined, as the import says that it does, and sources in one order."""
    found = {}
    for key, talk in talks.items():
        content: list[dict[str, Any]] = []
        for turn in talk["content"]:
            sources = sorted(turn["knowledge_source"])
            if content and content[-1]["agent"] == turn["agent"]:
                before = content[-1]
                before["message"] = f"{before['message'].strip()}\n{turn['message'].strip()}"
                before["turn_rating"] = before["turn_rating"] or turn["turn_rating"]
                before["knowledge_source"] = sorted({*before["knowledge_source"], *sources})
            else:
                content.append(turn | {"knowledge_source": sources})
        found[key] = talk | {"content": content}
    return found


@pytest.mark.shared_data
@pytest.mark.skipif(not SHARED.exists(), reason=f"{SHARED} is absent")
@pytest.mark.django_db(transaction=True)
def test_published_conversations_are_exported_unchanged_and_in_the_published_number(
    study: Study,
) -> None:
    parts, sets = published()
    everything = {key: talk for part in PARTS for key, talk in parts[part].items()}
    source = Source(BytesIO(json.dumps(everything).encode()))
    found = list(checked(source, "topical-chat", Limits(10_000, 100_000)))
    talks = [each for each in found if isinstance(each, Checked)]
    joined = [talk for talk in talks if talk.joined]
    assert [talk.joined for talk in joined] == [2, 2]

    assert len(talks) == 539 + 539 + 1524
    assert sum(len(talk.texts) + talk.joined for talk in talks) == 11_681 + 11_692 + 33_305
    own = [each["topical-chat-own"] for talk in talks for each in talk.own]
    heard = [each["topical-chat-partner"] for talk in talks for each in talk.heard if each]
    # As counted in the files, but for what the four joined turns say a second time.
    assert Counter(each["sentiment"] for each in own) == {
        "Curious to dive deeper": 24_077 - 1, "Neutral": 12_313 - 1, "Surprised": 9_675 - 1,
        "Happy": 8_851 - 1, "Sad": 775, "Disgusted": 438, "Angry": 314, "Fearful": 235,
    }  # fmt: skip
    assert Counter(source for each in own for source in each.get("source", ())) == {
        "FS1": 17_577 - 3, "FS2": 14_948 - 1, "FS3": 13_009, "AS1": 3_293, "AS2": 1_232, "AS3": 931,
        "AS4": 753, "Personal Knowledge": 15_223 - 1,
    }  # fmt: skip
    assert Counter(each["quality"] for each in heard) == {
        5: 26_647 - 1, 4: 25_823 - 2, 3: 3_154, 2: 466, 1: 164,
    }  # fmt: skip
    told = [each.what for each in found if isinstance(each, Problem)]
    assert [sum(word in each for each in told) for word in ("joined", "no source")] == [4, 6]

    some = {talk.id for talk in [*joined, *talks[:15], *talks[-5:]]}
    chosen = {key: talk for key, talk in everything.items() if key in some}
    brought_in(study, chosen, {key: sets[key] for key in chosen})

    conversations, reading = out(study)
    assert conversations == _comparable(chosen)
    assert reading == {key: sets[key] for key in chosen}
