"""Every part of a running server is killed, stopped or starved while people talk. Nothing saved is lost.

How long each fault keeps people waiting is in docs/reliability.md; here they only have to go on.
"""

import asyncio
import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.faults.conftest import WEB, Stack
from tests.faults.crowd import DOZEN, IN_PAIRS, PATIENCE, Place, Way, patiently, take_part
from turnwise.rehearsals.page_visitor import PageError, Visitor

pytestmark = pytest.mark.timeout(300)
Note = Callable[[str, float], None]

PARTS = {
    WEB: "Web process",
    "-q worker": "Job worker",
    "-q beat": "Timer",
    "redis-server": "Redis",
    "postgres": "PostgreSQL",
}
KEEPER = "turnwise.project.web_server"
STOPPED_SECONDS = 2.0


@pytest.mark.parametrize("name", PARTS)
def test_people_continue_after_a_part_is_killed(stack: Stack, note: Note, name: str) -> None:
    child = stack.child(name)
    at = time.monotonic()
    child.kill()

    note(f"{PARTS[name]} killed", stack.all_go_on(at))


def test_people_continue_after_the_supervisor_of_the_web_process_is_killed(stack: Stack, note: Note) -> None:
    stack.kill_keeper(stack.child(KEEPER), note, "What keeps the web process running")


def test_people_continue_after_a_session_of_postgresql_is_killed(stack: Stack, note: Note) -> None:
    """PostgreSQL then ends all sessions and recovers, as after a crash of its own."""
    sessions = [each for each in stack.child("postgres").children() if "turnwise" in " ".join(each.cmdline())]
    at = time.monotonic()
    sessions[0].kill()

    note("A session of PostgreSQL killed", stack.all_go_on(at))


def test_people_continue_after_a_bot_host_is_killed(stack: Stack, note: Note) -> None:
    host = stack.bot_host()
    at = time.monotonic()
    host.kill()

    note("Bot host killed", stack.all_go_on(at))


def test_people_continue_while_redis_hangs(stack: Stack, note: Note) -> None:
    """All but those whose bot is in another process, which is reached over Redis."""
    redis = stack.child("redis-server")
    at = time.monotonic()
    redis.suspend()
    try:
        note("Redis stopped, meanwhile", stack.all_go_on(at, but="afar"))
    finally:
        redis.resume()
    at = time.monotonic()
    note("Redis stopped, after it goes on", stack.all_go_on(at))


def test_people_continue_after_postgresql_hung(stack: Stack, note: Note) -> None:
    server = stack.child("postgres")
    family = [server, *server.children()]
    for each in family:
        with suppress(psutil.NoSuchProcess):
            each.suspend()
    time.sleep(STOPPED_SECONDS)
    at = time.monotonic()
    for each in family:
        with suppress(psutil.NoSuchProcess):
            each.resume()

    note("PostgreSQL stopped, after it goes on", stack.all_go_on(at))


def test_people_continue_after_everything_is_killed_at_once(stack: Stack, note: Note) -> None:
    doomed = [stack.child(WEB), *stack.serving.children().values(), stack.bot_host()]
    at = time.monotonic()
    for each in doomed:
        each.kill()

    note("All killed at once", stack.all_go_on(at))


def test_people_continue_after_the_disk_was_full(stack: Stack, note: Note, disk: Path) -> None:
    if not disk.is_mount():
        pytest.skip("no small disk may be mounted here")
    filler = disk / "filler"
    with filler.open("wb") as file, suppress(OSError):
        while True:
            file.write(bytes(2**20))
            file.flush()
    is_full = stack.status("readyz") == 503
    refused = stack.write_until_refused()
    at = time.monotonic()
    filler.unlink()

    assert is_full
    assert refused
    note("Disk full, after there is room", stack.all_go_on(at))


def test_people_continue_after_a_restart_of_all_programs(stack: Stack, note: Note) -> None:
    at = time.monotonic()
    stack.serving.end(signal.SIGKILL)
    stack.start_again()

    note("`make serve` killed and started again", stack.all_go_on(at))


@pytest.mark.timeout(600)
def test_every_payment_and_code_of_a_crowd_is_correct_whatever_is_killed(stack: Stack) -> None:
    """From three panels, alone and in pairs; TURNWISE_CROWD says how many, in dozens."""
    dozens = int(os.environ.get("TURNWISE_CROWD", "1"))
    made = json.loads(stack.shell(MAKE_CROWD.replace("DOZENS", str(dozens))))
    places = [
        Place(
            number, way, made["codes"][way in IN_PAIRS], made["tokens"][way in IN_PAIRS][f"person-{number}"]
        )
        for number, way in enumerate(DOZEN * dozens)
    ]
    may_finish = threading.Event()
    crowd = asyncio.run_coroutine_threadsafe(take_part(stack.link, places, may_finish), stack.loop)
    forged = next(place for place in places if place.panel == "url").link("forged", secret="another secret")
    with pytest.raises(PageError, match="signature is not valid"):
        patiently(lambda: Visitor(stack.link).get(forged))

    for kill in (*(stack.child(name).kill for name in (*PARTS, KEEPER)), stack.bot_host().kill):
        at = time.monotonic()
        kill()
        stack.all_go_on(at)
        assert not crowd.done()
    may_finish.set()
    people = {person.place.number: person for person in crowd.result(dozens * PATIENCE)}

    assert [each for person in people.values() for each in person.broken] == []
    stored = json.loads(stack.shell(CROWD))
    assert len(stored["people"]) == len(places)
    for place in places:
        found = stored["people"][place.id]
        entries = ["earned", "promised"] if place.outcome in ("complete", "partner_left") else ["promised"]
        assert (place.way, found["outcome"], found["entries"]) == (
            place.way, place.outcome, [[entry, "3.00"] for entry in entries],
        )  # fmt: skip
        back = "" if place.way is Way.VANISHES else place.way_back(found["code"])
        assert (place.way, people[place.number].way_back) == (place.way, back)
    assert stored["entries"] == sum(len(found["entries"]) for found in stored["people"].values())
    ways = Counter(place.way for place in places)
    alone = [ways[way] for way in (Way.GOOD, Way.SAME, Way.MACHINE, Way.TWICE)]
    assert stored["finished"] == [sum(alone), ways[Way.PAIR] // 2]
    paid = [sum(alone), ways[Way.PAIR] + ways[Way.PAIR_IS_LEFT]]
    assert stored["owed"] == [[people, f"{3 * people}.00"] for people in paid]
    assert stored["endings"] == {
        "complete": sum(alone) + ways[Way.PAIR] // 2, "partner_left": ways[Way.PAIR_LEAVES],
        "": ways[Way.VANISHES] + ways[Way.LEAVES],
    }  # fmt: skip
    assert stored["machines"] == [place.id for place in places if place.way is Way.MACHINE]


def test_no_acknowledged_data_is_lost_or_doubled(stack: Stack) -> None:
    stack.finish()

    compare_with_what_is_stored(stack)


def compare_with_what_is_stored(stack: Stack) -> None:
    """Of every ledger, once everybody has finished."""
    assert [each for chatter in stack.chatters for each in chatter.broken] == []
    stored = json.loads(stack.shell(STORED))
    for chatter in stack.chatters:
        found = stored[chatter.dialogue]
        turns = {position: (speaker, text) for position, speaker, text in found["turns"]}
        labels = dict(found["labels"])
        chatter.ledger.compare(turns, labels)
        assert (len(turns), sorted(turns)) == (len(found["turns"]), list(range(len(turns))))
        assert len(labels) == len(found["labels"]) == (len(turns) - 1) // 2 >= 14
        said = [text for position, (_, text) in sorted(turns.items()) if position % 2]
        assert said == [f"{chatter.name} says thing number {n}." for n in range(1, len(said) + 1)]
        assert found["ending"] == "complete"
    assert len(stored) == len(stack.chatters)
    assert stack.shell(REPORTED).strip() == "True"


STORED = """
import json
from turnwise.dialogues.models import Dialogue
stored = {}
for dialogue in Dialogue.objects.filter(study__title="Faults"):
    turns = list(dialogue.turn_set.order_by("position"))
    stored[str(dialogue.public_id)] = {
        "ending": dialogue.ending,
        "turns": [[turn.position, "human" if turn.position % 2 else "bot", turn.text] for turn in turns],
        "labels": [[turn.position, label.answers] for turn in turns for label in turn.labels.all()],
    }
print(json.dumps(stored))
"""

# The jobs work, too: the report that covers all of it is there.
REPORTED = """
import time
from turnwise.studies.models import Study
until = time.monotonic() + 240
while time.monotonic() < until:
    study = Study.objects.get(title="Faults")
    is_done = study.reports.filter(state="ready", results_version=study.results_version).exists()
    if is_done:
        break
    time.sleep(0.2)
print(is_done)
"""


MAKE_CROWD = """
import json
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.crowd.models import Invitation, StudyPanel
from turnwise.crowd.panels.study_panels import invite, save_panels
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study
from turnwise.studies.services import save_study, set_state
from turnwise.tasks.two_people.models import TwoPeoplePlan
from tests.faults.crowd import BACK, CODES, SECRET
codes, tokens = [], []
for title, task in (("Crowd", "conversation"), ("Pairs", "two_people")):
    study = Study(title=title, languages=["en"], practice=False, min_turns=4, max_turns=500, pay_amount=3,
                  pay_currency="USD", opening_speaker="human", opening_text="", expected_minutes=15)
    targets = {Bot.objects.get(name=name): 500 for name in ("quick", "afar")}
    study = save_study(study, owner=User.objects.get(), consent_text="You talk to somebody.", targets=targets,
                       asks=[AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN)])
    panels = [StudyPanel(panel="prolific", codes=CODES), StudyPanel(panel="invited"),
              StudyPanel(panel="url", parameter="pid", secret=SECRET, return_url=BACK)]
    save_panels(study, panels, closed_to=())
    set_state(study.pk, Study.State.OPEN)
    TwoPeoplePlan.objects.create(study=study, conversations=500)
    Study.objects.filter(pk=study.pk).update(task=task)
    invite(study, [f"person-{number}" for number in range(12 * DOZENS)])
    codes.append(study.code)
    tokens.append(dict(Invitation.objects.filter(study=study).values_list("name", "token")))
print(json.dumps({"codes": codes, "tokens": tokens}))
"""

CROWD = """
import json
from collections import Counter
from turnwise.crowd.pay import ledger
from turnwise.crowd.models import Invitation, Participation, PayEntry
from turnwise.dialogues.models import Dialogue
from turnwise.quality.flagging import update_flags
from turnwise.quality.models import Flag
from turnwise.studies.models import Study
from turnwise.studies.queries import counts_of
studies = [Study.objects.get(title=title) for title in ("Crowd", "Pairs")]
invited = {each.panel_id: each.name for each in Invitation.objects.filter(study__in=studies)}
people = {}
for own in Participation.objects.filter(study__in=studies).select_related("worker", "assignment"):
    entries = PayEntry.objects.filter(participation=own.pk).order_by("reason")
    name = invited.get(own.worker.panel_id, own.worker.panel_id)
    assert name not in people, name
    people[name] = {"outcome": own.assignment.outcome, "code": own.completion_code,
                    "entries": [[entry.reason, str(entry.amount)] for entry in entries]}
update_flags(studies[0])
flagged = Flag.objects.filter(participation__study=studies[0], kind="machine")
flagged = flagged.values_list("participation__worker__panel_id", flat=True)
print(json.dumps({
    "people": people,
    "machines": sorted((invited.get(each, each) for each in flagged), key=lambda name: int(name[7:])),
    "entries": PayEntry.objects.filter(study__in=studies).count(),
    "finished": [counts_of([study])[study.pk][0] for study in studies],
    "owed": [[owed.people, str(owed.total)] for owed in map(ledger.amount_due, studies)],
    "endings": Counter(Dialogue.objects.filter(study__in=studies).values_list("ending", flat=True)),
}))
"""
