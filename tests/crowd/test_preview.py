"""The preview of a study: every page as workers get it, the work with its rules, and nothing stored."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from channels.routing import URLRouter
from django.apps import apps
from django.test import Client
from django.utils import timezone

from tests.arenas import make_arena
from tests.conftest import PATIENCE, MakeMeeting, MakePairs, MakeQueue, MakeStudy, MakeWriting
from tests.desks import OPEN
from turnwise.accounts.models import User
from turnwise.bots.hosting import resident_bots
from turnwise.crowd.models import StudyPanel
from turnwise.crowd.panels.study_panels import save_panels
from turnwise.crowd.preview import preview_pages
from turnwise.crowd.worker_task import WorkerTask
from turnwise.judging.models import JudgingPlan
from turnwise.project.sockets import websocket_urlpatterns
from turnwise.questions.services import create_set
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study
from turnwise.studies.services import ask, save_study
from turnwise.studies.tasks import tasks

SignIn = Callable[[User], Client]


def rows() -> dict[str, int]:
    """How many rows each table has, but for sessions of the browser and the audit log."""
    ours = [model for model in apps.get_models() if model._meta.app_label not in ("sessions", "admin")]
    return {model._meta.label: model._base_manager.count() for model in ours}


@contextmanager
def nothing_stored() -> Iterator[None]:
    before = rows()
    yield
    assert rows() == before


@pytest.fixture
def every_task(
    make_study: MakeStudy,
    make_queue: MakeQueue,
    make_pairs: MakePairs,
    make_writing: MakeWriting,
    make_meeting: MakeMeeting,
    rex: User,
) -> dict[str, Study]:
    made = {
        "conversation": make_study(practice=True),
        "judging": make_queue(2),
        "pairs": make_pairs(),
        "writing": make_writing(),
        "two_people": make_meeting(),
        "arena": make_arena(rex),
    }
    assert set(made) == {task.key for task in tasks() if isinstance(task, WorkerTask)}
    return made


def test_every_page_of_every_task_is_shown_and_nothing_is_stored(
    every_task: dict[str, Study], rex: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)
    for study in every_task.values():
        way = preview_pages(study)
        with nothing_stored():
            for page in way:
                frame = client.get(f"/studies/{study.pk}/preview/?page={page.key}&size=desktop&scheme=dark")
                shown = client.get(page.address)
                assert shown.status_code == 200, page
                assert f'src="{page.address}?language=en"' in frame.text
                assert shown.headers["X-Frame-Options"] == "SAMEORIGIN"
                assert "frame-ancestors 'self'" in shown.headers["Content-Security-Policy"]
                assert f"/s/{study.code}/" not in shown.text  # no way from here into the study itself


def test_the_preview_lists_the_pages_in_the_workers_order(make_study: MakeStudy) -> None:
    asks = [
        AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN),
        AskSpec("demographics", About.PERSON, Moment.BEFORE_WORK),
        AskSpec("feedback", About.PERSON, Moment.AFTER_WORK),
    ]
    study = make_study(practice=True, asks=asks)

    assert [page.key for page in preview_pages(study)] == [
        "consent", "instructions", "before", "practice", "work", "after",
        "end-complete", "end-bot_failed", "end-timed_out", "end-screened_out", "end-study_full",
        "end-withdrawn",
    ]  # fmt: skip


def test_the_preview_of_two_people_shows_the_lobby_and_their_outcomes(meeting: Study) -> None:
    keys = [page.key for page in preview_pages(meeting)]

    assert keys[keys.index("lobby") + 1] == "work"
    assert {"end-partner_left", "end-no_partner"} < set(keys)


def test_each_language_of_the_study(make_study: MakeStudy, rex: User, sign_in: SignIn) -> None:
    study = make_study(languages=["en", "zh"])
    client = sign_in(rex)

    chinese = client.get(f"/studies/{study.pk}/preview/work/?language=zh").text
    frame = client.get(f"/studies/{study.pk}/preview/?page=work&language=zh").text
    unknown = client.get(f"/studies/{study.pk}/preview/work/?language=ar").text

    assert '<html lang="zh-hans"' in chinese
    assert "shown_in=zh" in json.loads(settings_in(chinese))["socket"]
    assert 'aria-current="true">Chinese</a>' in frame.replace(" (Simplified)", "").replace("Simplified ", "")
    assert '<html lang="en"' in unknown


def settings_in(page: str) -> str:
    return page.partition('id="chat-settings" type="application/json">')[2].partition("</script>")[0]


def test_a_last_page_shows_the_code_if_the_panel_has_one(study: Study, rex: User, sign_in: SignIn) -> None:
    rows = [StudyPanel(panel="open"), StudyPanel(panel="prolific", codes={"complete": "D0NE"})]
    save_panels(study, rows, closed_to=())
    opened, prolific = study.panels.order_by("pk")
    client = sign_in(rex)

    own = client.get(f"/studies/{study.pk}/preview/end-complete/?panel={opened.pk}").text
    of_panel = client.get(f"/studies/{study.pk}/preview/end-complete/?panel={prolific.pk}").text
    left = client.get(f"/studies/{study.pk}/preview/end-withdrawn/?panel={prolific.pk}").text
    frame = client.get(f"/studies/{study.pk}/preview/?page=end-complete").text

    assert "EXAMPLE-CODE" in own
    assert "cc=D0NE" in of_panel
    assert "D0NE" not in left
    assert "Comes by" in frame
    assert "Prolific" in frame


def test_an_empty_draft_is_explained(rex: User, sign_in: SignIn) -> None:
    draft = save_study(
        Study(title="Empty", languages=["en"]), owner=rex, consent_text="", targets={}, asks=[]
    )

    client = sign_in(rex)

    for page in preview_pages(draft):
        assert client.get(page.address).status_code == 200, page


def test_the_preview_is_only_for_the_study_s_team(study: Study, mallory: User, sign_in: SignIn) -> None:
    for address in (f"/studies/{study.pk}/preview/", f"/studies/{study.pk}/preview/work/"):
        assert sign_in(mallory).get(address).status_code == 404
        assert Client().get(address).status_code == 302


def test_an_unknown_preview_page_is_not_found(study: Study, rex: User, sign_in: SignIn) -> None:
    for page in ("practice", "lobby", "end-nowhere", "training"):
        assert sign_in(rex).get(f"/studies/{study.pk}/preview/{page}/").status_code == 404


# --- the work -------------------------------------------------------------------------------------


class Tab:
    """The socket of a previewed page."""

    def __init__(self, at: ApplicationCommunicator) -> None:
        self.at = at

    async def hear(self) -> dict[str, Any]:
        told = await self.at.receive_output(timeout=PATIENCE)
        if told["type"] == "websocket.close":
            return {"type": "closed", "code": told["code"]}
        heard: dict[str, Any] = json.loads(told["text"])
        return heard

    async def say(self, **frame: Any) -> dict[str, Any]:
        await self.at.send_input({"type": "websocket.receive", "text": json.dumps(frame)})
        return await self.hear()


@pytest.fixture
async def try_out(rex: User) -> AsyncIterator[Callable[..., Any]]:
    opened = []

    async def connect(study: Study, query: str = "page=work", user: User | None = rex) -> Tab:
        client = Client()
        if user:
            await sync_to_async(client.force_login)(user)
        cookies = client.cookies.output(header="", sep=";").strip()
        scope = {
            "type": "websocket",
            "path": f"/ws/previews/{study.pk}/",
            "query_string": query.encode(),
            "headers": [(b"cookie", cookies.encode())],
            "subprotocols": [],
        }
        at = ApplicationCommunicator(URLRouter(websocket_urlpatterns), scope)
        await at.send_input({"type": "websocket.connect"})
        assert (await at.receive_output(timeout=PATIENCE))["type"] == "websocket.accept"
        opened.append(at)
        return Tab(at)

    yield connect
    for at in opened:
        await at.send_input({"type": "websocket.disconnect", "code": 1005})
        await at.wait(timeout=PATIENCE)


@pytest.mark.django_db(transaction=True)
async def test_a_conversation_follows_the_rules_and_ends_at_the_next_page(
    make_study: MakeStudy, try_out: Callable[..., Any]
) -> None:
    study = await sync_to_async(make_study)(min_turns=2, max_turns=4, opening_text="Hi!")
    before = await sync_to_async(rows)()
    tab = await try_out(study)

    state = await tab.hear()
    assert [turn["text"] for turn in state["turns"]] == ["Hi!"]
    assert (await tab.say(type="finish"))["reason"] == "too_early"

    saved = await tab.say(type="turn", text="Hello.", key=str(uuid4()))
    reply = await tab.hear()
    assert (saved["type"], reply["type"]) == ("turn_saved", "bot_turn")
    assert reply["turn"]["text"].startswith("This reply is scripted")
    assert reply["progress"]["unlabelled"] == [2]

    early = await tab.say(type="turn", text="And?", key=str(uuid4()))
    assert early["reason"] == "label_first"
    odd = await tab.say(type="label", position=2, answers={"sensible": "perhaps"})
    assert odd["type"] == "refused"
    label = await tab.say(type="label", position=2, answers={"sensible": True, "specific": False})
    assert label["type"] == "label_saved"
    assert label["progress"]["may_finish"]

    ended = await tab.say(type="finish")
    assert ended["finished"] == f"/studies/{study.pk}/preview/end-complete/?language=en"
    assert await sync_to_async(rows)() == before


@pytest.mark.django_db(transaction=True)
async def test_a_bot_replies_in_the_preview_only_if_chosen(
    make_study: MakeStudy, try_out: Callable[..., Any]
) -> None:
    study = await sync_to_async(make_study)(opening_text="Hi!", script={"replies": ["From the bot."]})
    bot = await study.study_bots.aget()
    tab = await try_out(study, f"page=work&bot={bot.bot_id}")
    await tab.hear()

    await tab.say(type="turn", text="Hello.", key=str(uuid4()))
    told = await tab.hear()

    # Nobody hosts it here, which is said; where somebody does, tests/browser has its reply.
    assert told["type"] in ("bot_failed", "bot_turn")
    assert "scripted" not in json.dumps(told)


async def previewed_with_bot(make_study: MakeStudy, try_out: Callable[..., Any], **fields: Any) -> Tab:
    """A preview in which the study's bot, which writes slowly, is writing its reply."""
    script = {"replies": [SLOW], "characters_per_second": 200}
    study = await sync_to_async(make_study)(script=script, opening_text="Hi!", **fields)
    bot = await study.study_bots.select_related("bot").aget()
    hosted = await sync_to_async(resident_bots.host)(bot.bot)
    await sync_to_async(hosted.resident.wait_loaded)(PATIENCE)
    tab = await try_out(study, f"page=work&bot={bot.bot_id}")
    await tab.hear()
    assert (await tab.say(type="turn", text="Hello.", key=str(uuid4())))["type"] == "turn_saved"
    return tab


SLOW = "I would rather not talk about that, and I shall tell you at length why I do not. " * 3
SLOW = SLOW.strip()


@pytest.fixture
def _no_bot_is_hosted_afterwards() -> Iterator[None]:
    yield
    resident_bots.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_no_bot_is_hosted_afterwards")
async def test_a_reply_grows_in_the_preview_as_the_study_says(
    make_study: MakeStudy, try_out: Callable[..., Any]
) -> None:
    tab = await previewed_with_bot(make_study, try_out, reply_display="as_it_comes")

    text, parts = "", 0
    while (frame := await tab.hear())["type"] == "bot_text":
        assert frame["position"] == 2
        text, parts = text[: frame["offset"]] + frame["text"], parts + 1
        assert SLOW.startswith(text)

    assert parts > 2
    assert (frame["type"], frame["turn"]["text"]) == ("bot_turn", SLOW)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_no_bot_is_hosted_afterwards")
async def test_a_reply_appears_at_once_in_the_preview_of_other_studies(
    make_study: MakeStudy, try_out: Callable[..., Any]
) -> None:
    tab = await previewed_with_bot(make_study, try_out)

    frame = await tab.hear()

    assert (frame["type"], frame["turn"]["text"]) == ("bot_turn", SLOW)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_no_bot_is_hosted_afterwards")
@pytest.mark.parametrize("display", ["as_it_comes", "fixed_pace"])
async def test_a_growing_reply_is_stopped_in_the_preview(
    make_study: MakeStudy, try_out: Callable[..., Any], display: str
) -> None:
    fields = {"reply_display": display, "reply_pace": 20, "may_stop_replies": True}
    tab = await previewed_with_bot(make_study, try_out, **fields)
    while (await tab.hear())["type"] != "bot_text":
        pass

    frame = await tab.say(type="stop", position=2)
    while frame["type"] == "bot_text":
        frame = await tab.hear()

    assert frame["type"] == "bot_turn"
    assert SLOW.startswith(frame["turn"]["text"])
    assert len(frame["turn"]["text"]) < len(SLOW)


@pytest.mark.django_db(transaction=True)
async def test_judging_takes_the_first_items_and_leases_none(
    make_queue: MakeQueue, try_out: Callable[..., Any]
) -> None:
    study = await sync_to_async(make_queue)(5)
    before = await sync_to_async(rows)()
    tab = await try_out(study)

    items = (await tab.hear())["items"]
    assert len(items) == 3
    assert (await tab.say(type="finish"))["reason"] == "unjudged"
    for item in items:
        judged = await tab.say(type="judge", item=item["key"], answers={"sensible": True, "specific": True})
        assert judged["type"] == "judged"
    assert judged["progress"] == {"done": 3, "size": 3, "may_finish": True}
    assert "end-complete" in (await tab.say(type="finish"))["finished"]
    assert await sync_to_async(rows)() == before


@pytest.mark.django_db(transaction=True)
async def test_items_of_each_ask_are_previewed_with_their_questions(
    make_queue: MakeQueue, try_out: Callable[..., Any]
) -> None:
    asks = [AskSpec("ssa", About.RESPONSE), AskSpec("likert", About.DIALOGUE)]
    study = await sync_to_async(make_queue)(2, asks=asks[:1])
    await Study.objects.filter(pk=study.pk).aupdate(state=Study.State.DRAFT)
    await sync_to_async(ask)(study.pk, asks)
    tab = await try_out(study)

    items = (await tab.hear())["items"]

    assert [item["ask"] for item in items] == [0, 0, 1]  # of the other an example, as its queue is empty
    wrong = await tab.say(type="judge", item=items[2]["key"], answers={"sensible": False})
    assert wrong["type"] == "refused"
    scales = dict.fromkeys(("quality", "diversity", "fluency", "relatedness", "empathy"), 4)
    right = await tab.say(type="judge", item=items[2]["key"], answers=scales)
    assert (right["type"], right["progress"]["done"]) == ("judged", 1)


@pytest.mark.django_db(transaction=True)
async def test_the_preview_shows_no_removed_items(make_queue: MakeQueue, try_out: Callable[..., Any]) -> None:
    study = await sync_to_async(make_queue)(2)
    taken_out, left = [item async for item in study.items.order_by("pk")]
    await study.items.filter(pk=taken_out.pk).aupdate(removed_at=timezone.now())

    tab = await try_out(study)

    assert [item["key"] for item in (await tab.hear())["items"]] == [str(left.key)]


@pytest.mark.django_db(transaction=True)
async def test_an_empty_queue_is_previewed_with_examples_of_the_questions(
    make_queue: MakeQueue, rex: User, try_out: Callable[..., Any]
) -> None:
    own = await sync_to_async(create_set)(OPEN, owner=rex)
    study = await sync_to_async(make_queue)(question_set=own.key, protocol="")
    tab = await try_out(study)

    (item,) = (await tab.hear())["items"]
    assert item["context"]
    assert item.get("text") is None  # a context, without a response
    assert (await tab.say(type="judge", item=item["key"], answers={"open": True}))["type"] == "judged"


@pytest.mark.django_db(transaction=True)
async def test_writing_takes_the_first_contexts(
    make_writing: MakeWriting, try_out: Callable[..., Any]
) -> None:
    study = await sync_to_async(make_writing)()
    before = await sync_to_async(rows)()
    tab = await try_out(study)

    (item,) = (await tab.hear())["items"]
    empty = await tab.say(type="write", item=item["key"], text=" ")
    assert empty["reason"] == "unfit"
    written = await tab.say(type="write", item=item["key"], text="I would love to hear more of it.")
    assert written["type"] == "written"
    assert await sync_to_async(rows)() == before


@pytest.mark.django_db(transaction=True)
async def test_two_scripted_chatbots_are_compared_by_the_rules_of_the_study(
    rex: User, try_out: Callable[..., Any]
) -> None:
    study = await sync_to_async(make_arena)(rex, min_turns=4)
    before = await sync_to_async(rows)()
    tab = await try_out(study)

    assert (await tab.hear())["battle"] == 1
    for may_vote in (False, True):
        vote = {"type": "vote", "battle": 1, "exchange": 2, "ask": 0, "answers": {"better": "first"}}
        assert (await tab.say(**vote))["reason"] == "vote_early"
        said = await tab.say(type="turn", battle=1, key=str(uuid4()), text="Hello!")
        assert (len(said["turns"][-1]["replies"]), said["may_vote"]) == (2, may_vote)
    assert (await tab.say(type="finish"))["reason"] == "unvoted"
    assert (await tab.say(**vote))["battle"] == 2
    assert await sync_to_async(rows)() == before


@pytest.mark.django_db(transaction=True)
async def test_two_people_wait_and_talk_with_a_scripted_partner(
    meeting: Study, try_out: Callable[..., Any]
) -> None:
    lobby = await try_out(meeting, "page=lobby")
    assert await lobby.hear() == {"type": "state", "waited": 0}

    tab = await try_out(meeting)
    state = await tab.hear()
    if not state["progress"]["may_send"]:
        assert (await tab.hear())["type"] == "partner_turn"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("who", ["nobody", "mallory"])
async def test_other_users_cannot_open_the_preview_socket(
    who: str, study: Study, mallory: User, try_out: Callable[..., Any]
) -> None:
    tab = await try_out(study, user=mallory if who == "mallory" else None)

    assert (await tab.hear())["reason"] == ("unknown_dialogue" if who == "mallory" else "no_session")
    assert (await tab.hear())["type"] == "closed"


def test_training_is_shown_before_it_is_worked(make_queue: MakeQueue, rex: User, sign_in: SignIn) -> None:
    study = make_queue(2)
    JudgingPlan.objects.filter(study=study).update(training_tries=2)

    assert [page.key for page in preview_pages(study)][2:4] == ["training", "work"]
    shown = sign_in(rex).get(f"/studies/{study.pk}/preview/training/").text
    assert "You have 2 attempts left." in shown
    assert 'method="post"' not in shown
