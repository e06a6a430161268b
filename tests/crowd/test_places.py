"""Whose a place is between *Start* and the first word: real sockets, real threads, real transactions."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.utils import timezone

from tests.conftest import MakeStudy, OpenTab, enter
from tests.rewriting import remove, rewriting
from turnwise.crowd import worker_socket
from turnwise.crowd.entry.enrolment import consent
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.crowd.models import Assignment, Participation
from turnwise.crowd.places import pilot
from turnwise.crowd.places.assignment import (
    CLAIM_PLACE_FAST,
    PlaceState,
    admit,
    assign,
    assign_bot_instead,
    claim_place,
    claim_place_fast,
)
from turnwise.crowd.places.reservation import (
    LOADING,
    MOST_HELD_FROM_AN_ADDRESS,
    READING,
    hold_places,
    keep_place,
    occupied_places,
)
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.crowd.running.worker_status import watch
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.dialogues.services import begin
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

make = sync_to_async


def started(study: Study, address: str = "") -> Assignment:
    """Somebody new presses Start."""
    version = study.consent_versions.get()
    own = consent(study, version, known=None, arrival=None, address=address)
    place = assign(own.pk)
    begin(place)
    return place


def close_page(*places: Assignment) -> None:
    """So long ago that they hold nothing any more."""
    Assignment.objects.filter(pk__in=[place.pk for place in places]).update(held_until=timezone.now())


def taken(study: Study) -> int:
    return occupied_places(study.study_bots.all(), timezone.now()).total()


def claim_at_once(places: Sequence[Assignment], *, begins: bool) -> Counter[PlaceState]:
    def one(place: Assignment) -> PlaceState:
        try:
            return claim_place(place.pk, begins=begins)
        finally:
            connection.close()

    with ThreadPoolExecutor(len(places)) as pool:
        return Counter(pool.map(one, places))


def browser_of(place: Assignment) -> Client:
    client = Client()
    client.cookies[COOKIE] = signed(Participation.objects.get(pk=place.participation_id))
    return client


def test_the_first_workers_to_write_get_the_places(make_study: MakeStudy) -> None:
    """Sixteen at once for five places: never more, and nobody who got one loses it."""
    study = make_study({"only": 5})
    places = []
    for _ in range(4):
        places += [started(study) for _ in range(4)]
        close_page(*places)

    said = claim_at_once(places, begins=True)

    assert said == {PlaceState.BEGUN: 5, PlaceState.GONE: 11}
    assert taken(study) == 5
    begun = Assignment.objects.filter(study=study)
    assert begun.count() == 5
    assert Dialogue.objects.filter(study=study).count() == 5
    assert claim_at_once(list(begun), begins=True) == {PlaceState.BEGUN: 5}


def begin_at_once_if_plain(place: Assignment) -> bool:
    """As `claim_place_fast`, on this thread and in its transaction."""
    now = timezone.now().isoformat()
    step = {"participation": place.participation_id, "assignment": place.pk, "now": now}
    return CLAIM_PLACE_FAST.row_alone(**step) is not None


async def test_while_there_are_enough_places_nobody_is_counted(
    make_study: MakeStudy,
) -> None:
    study = await make(make_study)({"only": 3})
    first, second = await make(started)(study), await make(started)(study)

    assert await claim_place_fast(first.participation_id, first.pk)

    await first.arefresh_from_db()
    await second.arefresh_from_db()
    assert first.active_at > first.assigned_at
    assert second.active_at == second.assigned_at
    # Safe to repeat: what was begun is known to the closer look.
    assert not await claim_place_fast(first.participation_id, first.pk)
    assert await make(claim_place)(first.pk, begins=True) is PlaceState.BEGUN


async def test_unclear_cases_are_decided_by_claim_place(make_study: MakeStudy) -> None:
    study = await make(make_study)({"only": 2})
    places = []
    for _ in range(3):
        places.append(await make(started)(study))
        await make(close_page)(*places)

    assert [await claim_place_fast(each.participation_id, each.pk) for each in places] == [False] * 3
    piloted = await make(make_study)({"only": 30}, pilot_size=3, primary_analysis="without_excluded")
    in_pilot = await make(started)(piloted)
    assert not await claim_place_fast(in_pilot.participation_id, in_pilot.pk)
    await remove(in_pilot)
    assert not await claim_place_fast(in_pilot.participation_id, in_pilot.pk)


def test_starting_workers_do_not_wait_for_each_other_or_for_counts(
    make_study: MakeStudy,
) -> None:
    study = make_study({"only": 3})
    first, second, third = [started(study) for _ in range(3)]

    def at_once_or_not(place: Assignment, *, looks_closer: bool) -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
        try:
            return (
                claim_place(place.pk, begins=True) is PlaceState.BEGUN
                if looks_closer
                else begin_at_once_if_plain(place)
            )
        except OperationalError:
            return False
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other, transaction.atomic():
        assert begin_at_once_if_plain(first)
        assert other.submit(at_once_or_not, second, looks_closer=False).result()
        assert not other.submit(at_once_or_not, third, looks_closer=True).result()
    assert claim_place(third.pk, begins=True) is PlaceState.BEGUN


def test_concurrent_starts_and_first_words_take_every_place_exactly_once(make_study: MakeStudy) -> None:
    study = make_study({"only": 5})

    def come(_: int) -> str:
        try:
            place = started(study)
            close_page(place)
            begun = begin_at_once_if_plain(place) or claim_place(place.pk, begins=True) is PlaceState.BEGUN
        except EntryRefusedError:
            return "refused"
        finally:
            connection.close()
        return "begun" if begun else "gone"

    with ThreadPoolExecutor(12) as pool:
        said = Counter(pool.map(come, range(12)))

    assert said["begun"] == taken(study) == 5


def test_a_bot_never_exceeds_its_highest_number(make_study: MakeStudy) -> None:
    study = make_study({"only": 30})
    places = [started(study) for _ in range(4)]
    waited = Assignment.objects.create(
        participation=enter(study), study=study, assigned_at=timezone.now(), active_at=timezone.now()
    )

    assign_bot_instead(waited.pk, now=timezone.now())
    with rewriting():
        Assignment.objects.get(pk=places[1].pk).delete()
    started(study)

    numbers = Assignment.objects.order_by("number").values_list("number", flat=True)
    assert list(numbers) == [1, 3, 4, 5, 6]


def test_nineteen_workers_who_only_press_start_do_not_block_others(make_study: MakeStudy) -> None:
    study = make_study({"only": 19})
    places = [started(study, f"198.51.100.{number}") for number in range(19)]
    close_page(*places)

    honest = [started(study, "203.0.113.5") for _ in range(5)]

    assert claim_at_once(honest, begins=True) == {PlaceState.BEGUN: 5}


def test_a_returning_worker_gets_the_place_back_while_it_is_free(make_study: MakeStudy) -> None:
    study = make_study({"only": 2})
    first, second = started(study), started(study)
    close_page(first, second)
    third = started(study)  # in the place of one of them

    assert claim_at_once([first, second], begins=False) == {PlaceState.HELD: 1, PlaceState.GONE: 1}
    assert taken(study) == 2
    with pytest.raises(EntryRefusedError, match="what is left"):
        started(study)
    assert claim_place(third.pk, begins=True) is PlaceState.BEGUN


def test_an_open_page_holds_its_place_for_as_long_as_reading_takes(make_study: MakeStudy) -> None:
    study = make_study({"only": 1})
    place = started(study)
    at = place.assigned_at
    while at < place.assigned_at + READING:
        assert occupied_places(study.study_bots.all(), at).total() == 1
        hold_places([place.pk], now=at)
        at += LOADING / 2

    assert occupied_places(study.study_bots.all(), at + LOADING).total() == 0
    hold_places([place.pk], now=at + LOADING)  # as the page does on and on
    assert occupied_places(study.study_bots.all(), at + LOADING).total() == 0


def test_a_released_place_is_not_held_again_automatically(make_study: MakeStudy) -> None:
    study = make_study({"only": 1})
    place = started(study)
    close_page(place)
    started(study)

    hold_places([place.pk])

    assert taken(study) == 1


def test_open_pages_of_one_address_hold_few_places_of_a_study_and_of_its_pilot(make_study: MakeStudy) -> None:
    study = make_study({"only": 30}, pilot_size=8, primary_analysis="without_excluded")
    for _ in range(MOST_HELD_FROM_AN_ADDRESS + 4):
        started(study, "198.51.100.7")

    assert pilot.pilot_progress(study, timezone.now()).active == taken(study) == MOST_HELD_FROM_AN_ADDRESS
    others = [started(study, f"203.0.113.{number}") for number in range(5)]
    assert claim_at_once(others, begins=True) == {PlaceState.BEGUN: 5}
    with pytest.raises(EntryRefusedError, match="nobody new can start"):
        started(study, "203.0.113.9")


def test_a_pilot_never_exceeds_its_size(make_study: MakeStudy) -> None:
    study = make_study({"only": 30}, pilot_size=3, primary_analysis="without_excluded")
    places = [started(study, "198.51.100.7") for _ in range(3)]
    close_page(*places)
    places += [started(study, "198.51.100.8") for _ in range(3)]

    assert claim_at_once(places, begins=True) == {PlaceState.BEGUN: 3, PlaceState.GONE: 3}
    left = Participation.objects.filter(study=study, assignment=None)
    assert [each.pilot for each in left] == [False] * 3


def test_a_worker_in_the_lobby_is_present_while_the_page_is_open(meeting: Study) -> None:
    place = admit(enter(meeting).pk)
    long_after = place.assigned_at + 2 * READING

    hold_places([place.pk], now=long_after)

    place.refresh_from_db()
    assert place.held_until == long_after + LOADING
    assert claim_place(place.pk, begins=False, now=long_after + timedelta(hours=1)) is PlaceState.HELD


async def test_an_open_socket_holds_the_place(
    make_study: MakeStudy, open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_socket, "SECONDS_BETWEEN_SIGNS_OF_A_PAGE", -1.0)
    study = await make(make_study)({"only": 1})
    place = await make(started)(study)
    await open_tab(await Dialogue.objects.aget(study=study))
    while not watch().pages:  # it is looked after a moment later than it shows its conversation
        await asyncio.sleep(0.01)
    before = (await Assignment.objects.aget(pk=place.pk)).held_until

    await watch().look()

    after = (await Assignment.objects.aget(pk=place.pk)).held_until
    assert before < after


async def test_a_slow_writer_keeps_the_place_and_others_are_refused_early(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    """One place, two who pressed Start: the first keystroke decides, so that nobody writes in vain."""
    study = await make(make_study)({"only": 1})
    idle = await make(started)(study)
    idle_tab = await open_tab(await Dialogue.objects.aget(study=study))
    await make(close_page)(idle)  # that it was open for too long
    quick = await make(started)(study)
    quick_tab = await open_tab(await Dialogue.objects.aget(seats__assignment=quick))

    await quick_tab.send(type="typing")
    assert (await quick_tab.receive("pong", "refused"))["type"] == "pong"
    await idle_tab.send(type="typing")
    refused = await idle_tab.receive("refused")
    await make(Assignment.objects.filter(pk=quick.pk).update)(held_until=timezone.now())
    reply = await quick_tab.say("Hello.")

    assert (refused["reason"], refused["to"]) == ("place_gone", f"/s/{study.code}/place-taken/")
    assert await idle_tab.close_code() == 4406
    assert reply["type"] == "bot_turn"
    assert await make(taken)(study) == 1


async def test_a_message_after_the_last_place_is_gone_is_not_stored(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    """A program that sends no sign of typing before."""
    study = await make(make_study)({"only": 1})
    late = await make(started)(study)
    tab = await open_tab(await Dialogue.objects.aget(study=study))
    await make(close_page)(late)
    await make(lambda: keep_place(started(study).pk))()

    assert (await tab.say("Me, too."))["reason"] == "place_gone"
    assert not await Turn.objects.filter(text="Me, too.").aexists()


async def test_two_tabs_of_one_worker_have_one_place(make_study: MakeStudy, open_tab: OpenTab) -> None:
    study = await make(make_study)({"only": 1})
    await make(started)(study)
    dialogue = await Dialogue.objects.aget(study=study)
    one, other = await open_tab(dialogue), await open_tab(dialogue)

    assert (await one.say("Hello."))["type"] == "bot_turn"
    assert (await other.label(2, sensible=True, specific=True))["type"] == "label_saved"


async def test_a_worker_who_returns_too_late_gets_instructions(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    study = await make(make_study)({"only": 1, "other": 1})
    late = await make(started)(study)
    dialogue = await Dialogue.objects.aget(study=study)
    await make(close_page)(late)
    await make(lambda: keep_place(started(study).pk))()

    refused = (await open_tab(dialogue)).first
    client = await make(browser_of)(late)
    there_is_another = await make(client.get)(refused["to"])
    again = await make(client.post)(f"/s/{study.code}/start/")
    mine = await Assignment.objects.select_related("study_bot__bot").aget(participation=late.participation_id)

    assert refused["reason"] == "place_gone"
    assert there_is_another.status_code == 409
    assert "no work of yours is lost" in there_is_another.text
    assert "There are places with other chatbots" in there_is_another.text
    assert (again.status_code, again["Location"]) == (302, f"/s/{study.code}/chat/")
    assert mine.study_bot.bot.name == "other"
    led_back = await make(client.get)(f"/s/{study.code}/place-taken/")
    assert (led_back.status_code, led_back["Location"]) == (302, f"/s/{study.code}/chat/")


def test_without_a_free_place_the_return_path_to_the_panel_is_shown(make_study: MakeStudy) -> None:
    study = make_study({"only": 1})
    late = started(study)
    close_page(late)
    keep_place(started(study).pk)
    assert claim_place(late.pk, begins=False) is PlaceState.GONE

    page = browser_of(late).get(f"/s/{study.code}/place-taken/").text

    assert "A place may become free in an hour." in page
