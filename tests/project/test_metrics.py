"""What processes measure and PostgreSQL knows, as Prometheus and admins read it."""

import gc
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from asgiref.sync import sync_to_async
from django.test import Client
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from pytest_django.fixtures import Settings
from redis.exceptions import RedisError

from tests.conftest import MakeQueue, MakeStudy, OpenTab, start_dialogue
from tests.desks import begin
from turnwise.accounts.models import User
from turnwise.bots import budgets
from turnwise.bots.models import Bot, BotPrice, BotUsage
from turnwise.dialogues.models import Dialogue
from turnwise.live.metrics import publishing, recording
from turnwise.live.metrics.counting import LoopCounter, LoopHistogram
from turnwise.live.metrics.publishing import Publisher, Values
from turnwise.project.asgi_middleware import CountedSockets
from turnwise.project.celery import beat_heart
from turnwise.project.system import gathering
from turnwise.project.system.system_page import Readings, quantile
from turnwise.studies.asks import Moment

SignIn = Callable[[User], Client]
DEPLOY = Path(__file__).parents[2] / "deploy"
TOKEN = "a-token-that-nobody-guesses"
BEARER = f"Bearer {TOKEN}"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def publisher() -> Publisher:
    """One that has published whatever earlier tests have left in this process; nothing else is there."""
    made = Publisher()
    made.publish()
    client = publishing.redis_client()
    client.delete(*client.scan_iter(match="turnwise:metrics:*"))
    return made


def scraped(client: Client) -> dict[str, Metric]:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    return {family.name: family for family in text_string_to_metric_families(answer.content.decode())}


@sync_to_async
def talker(make_study: MakeStudy) -> Dialogue:
    return start_dialogue(make_study({"scripty": 9}, moment=Moment.BEFORE_FINISH))


@sync_to_async
def readings(publisher: Publisher) -> Readings:
    publisher.publish()
    return Readings(scraped(Client()).values())


async def test_a_turn_is_measured_by_stage_and_the_bot_by_outcome(
    make_study: MakeStudy, open_tab: OpenTab, publisher: Publisher
) -> None:
    tab = await open_tab(await talker(make_study))
    await tab.say("Are you there?")
    await tab.say("Good")

    found = await readings(publisher)

    assert found.value("turnwise_turn_seconds_count", stage="whole") == 2
    for stage in ("message_saved", "bot_answered", "reply_saved"):
        assert found.value("turnwise_turn_seconds_count", stage=stage), stage
    stages = found.by_label("turnwise_turn_seconds_sum", "stage")
    assert 0 < stages.pop("whole") >= sum(stages.values())
    assert found.by_label("turnwise_replies_total", "outcome", bot="scripty") == {"answered": 2}
    assert found.value("turnwise_reply_seconds_count", bot="scripty") == 2
    assert found.value("turnwise_batch_steps_sum")
    assert found.value("turnwise_batch_queue") == 0


async def test_failed_replies_are_counted_by_their_reason(
    make_study: MakeStudy, open_tab: OpenTab, publisher: Publisher
) -> None:
    @sync_to_async
    def failing() -> Dialogue:
        study = make_study({"scripty": 9}, script={"replies": ["x"], "fail_on": [1]})
        return start_dialogue(study)

    tab = await open_tab(await failing())
    await tab.send(type="turn", key="5f0ee3f2-1a3c-4ac3-9f39-0a6bd9f0a3d1", text="Hello?")
    await tab.receive("bot_failed")

    found = await readings(publisher)

    assert found.by_label("turnwise_replies_total", "outcome", bot="scripty") == {"failed": 1}
    assert found.value("turnwise_turn_seconds_count", stage="whole") is None


def test_totals_outlive_their_process_and_an_outage_of_redis_and_gauges_end_with_it(
    publisher: Publisher, settings: Settings
) -> None:
    address = settings.REDIS_URL
    recording.record_job("reports.build", "done", 0.2)
    publisher.publish()
    recording.record_job("reports.build", "failed", 70)
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    publisher._client = publishing.redis_client()
    with pytest.raises(RedisError):
        publisher.publish()
    settings.REDIS_URL = address
    publisher._client = publishing.redis_client()
    publisher.publish()
    publisher.publish()  # nothing is new

    job = ("outcome", "failed"), ("task", "reports.build")
    sockets = "turnwise_open_sockets", (("kind", "dialogues"),)
    assert publishing.published()["turnwise_jobs_total", job] == 1
    assert publishing.recent()["turnwise_job_seconds_sum", (("task", "reports.build"),)] == pytest.approx(
        70.2
    )
    assert sockets in publishing.published()
    publisher.withdraw()
    assert sockets not in publishing.published()
    assert publishing.published()["turnwise_jobs_total", job] == 1


async def test_open_sockets_are_counted_by_kind_until_they_end() -> None:
    async def inner(*_: Any) -> None:
        assert recording._sockets["dialogues"] == before + 1
        raise ConnectionError

    before = recording._sockets["dialogues"]
    with pytest.raises(ConnectionError):
        await CountedSockets(inner)({"type": "websocket", "path": "/ws/dialogues/5/"}, None, None)  # type: ignore[arg-type]
    assert recording._sockets["dialogues"] == before


def test_what_postgresql_and_redis_know_is_read_when_asked(
    client: Client, make_study: MakeStudy, make_queue: MakeQueue
) -> None:
    study, queue = make_study({"scripty": 9}), make_queue(2)
    begin(queue)
    bot = Bot.objects.get()
    BotUsage.objects.create(
        bot=bot, day=budgets.today(), replies=1, prompt=3_000_000, cached=1_000_000, completion=500_000
    )
    BotPrice.objects.create(
        bot=bot, valid_from=budgets.today(), currency="USD", prompt=2, cached=1, completion=4
    )
    study.reports.create(results_version=1, requested_at=study.created_at)
    beat_heart("computing")

    families = scraped(client)

    found = Readings(families.values())
    assert found.value("turnwise_jobs_at_work", kind="report", state="queued") == 1
    assert found.value("turnwise_jobs_oldest_seconds", kind="report", state="queued") > 0
    assert found.value("turnwise_leases", state="valid") == 2
    assert found.by_label("turnwise_tokens_total", "kind", bot="scripty") == {
        "prompt": 2_000_000, "cached": 1_000_000, "completion": 500_000,
    }  # fmt: skip
    assert found.value("turnwise_cost_of_month", bot="scripty", currency="USD") == pytest.approx(7)
    assert 0 < found.value("turnwise_database_connections") < found.value("turnwise_database_connections_max")
    assert 0 < found.value("turnwise_disk_free_bytes") < found.value("turnwise_disk_bytes")
    assert found.value("turnwise_job_worker_silent_seconds", queue="computing") < 60
    assert set(found.by_label("turnwise_source_up", "source").values()) == {1.0}
    assert found.value("turnwise_ready", part="postgresql") == 1


def test_without_redis_the_other_metrics_are_there_and_one_says_what_is_missing(
    client: Client, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"

    found = Readings(scraped(client).values())

    assert found.value("turnwise_source_up", source="processes") == 0
    assert found.value("turnwise_source_up", source="database") == 1
    assert found.value("turnwise_database_connections")


def test_metrics_are_for_this_machine_or_for_those_with_the_token(client: Client, settings: Settings) -> None:
    settings.METRICS_TOKEN = ""
    assert client.get("/metrics", REMOTE_ADDR="10.0.0.7").status_code == 404
    assert client.get("/metrics", headers={"x-forwarded-for": "127.0.0.1"}).status_code == 404
    settings.METRICS_TOKEN = TOKEN
    assert client.get("/metrics").status_code == 403
    assert client.get("/metrics", headers={"authorization": BEARER + "x"}).status_code == 403
    assert client.get("/metrics", headers={"authorization": "Bearer é"}).status_code == 403
    answer = client.get("/metrics", headers={"authorization": BEARER}, REMOTE_ADDR="10.0.0.7")
    assert answer.status_code == 200


def test_a_scrape_has_a_bounded_number_of_bots(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = gathering.BotLabels()
    labels._names = {1: "one"}
    values: Values = {
        ("turnwise_replies_total", (("bot", str(bot)), ("outcome", "busy"))): 2.0 for bot in (1, 2, 3)
    }

    found = Readings(gathering.families_of(values, labels))

    assert found.by_label("turnwise_replies_total", "bot") == {"one": 2, "other": 4}


@pytest.mark.parametrize(
    ("q", "expected"), [(0.0, 0.0), (0.25, 0.5), (0.5, 1.0), (0.8125, 4.571), (0.9, 5.0), (1.0, 5.0)]
)
def test_quantiles_are_interpolated_within_their_bucket(q: float, expected: float) -> None:
    assert quantile([(1.0, 4.0), (5.0, 6.8), (float("inf"), 8.0)], q) == pytest.approx(expected, abs=0.01)


def test_admins_see_the_same_numbers_in_words(
    sign_in: SignIn, ada: User, rex: User, make_study: MakeStudy, publisher: Publisher
) -> None:
    make_study({"scripty": 9}).reports.create(results_version=1, requested_at="2026-01-01T00:00Z")
    clock = recording.TurnClock()
    clock.lap("bot_answered")
    clock.finish()
    recording.record_reply(Bot.objects.get().pk, "answered", 0.2)
    recording.record_reply(Bot.objects.get().pk, "late")
    publisher.publish()

    answer = sign_in(ada).get("/system/")

    page = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.content.decode()))
    assert answer["Refresh"] == "15"
    assert "Whole turn 1 " in page
    assert "scripty 0 / 0 0 2 1 50" in page
    assert re.search(r"Reports 1 0 \d+ d", page.replace("\xa0", " ").replace("&nbsp;", " "))
    assert "Database connections: " in page
    assert sign_in(rex).get("/system/").status_code == 404


# --- files of deploy/ -----------------------------------------------------------------------------

METRIC = re.compile(r"\bturnwise_[a-z_]+")
SUFFIX = re.compile(r"_(bucket|sum|count)$")


def test_alert_rules_and_dashboard_name_metrics_that_exist(client: Client) -> None:
    beat_heart("computing")
    known = {SUFFIX.sub("", name) for name in METRIC.findall(client.get("/metrics").content.decode())}
    rules = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text())
    dashboard = json.loads((DEPLOY / "grafana" / "turnwise.json").read_text())
    alerts = [rule for group in rules["groups"] for rule in group["rules"]]
    expressions = [rule["expr"] for rule in alerts]
    for panel in dashboard["panels"]:
        expressions += [target["expr"] for target in panel.get("targets", [])]

    named = {SUFFIX.sub("", name) for each in expressions for name in METRIC.findall(each)}

    assert len(named) > 15
    assert not named - known
    for rule in alerts:
        assert rule.keys() >= {"alert", "expr", "for", "labels", "annotations"}, rule["alert"]
        assert rule["annotations"].keys() == {"summary", "description"}
        assert rule["labels"]["severity"] in ("page", "ticket")
    for each in expressions:
        assert [each.count(sign) for sign in "([{"] == [each.count(sign) for sign in ")]}"], each
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)


def test_garbage_collection_need_not_follow_what_waits() -> None:
    """Tens of thousands of measurements wait on a busy server; a full collection stops it meanwhile."""
    recording.fill_in()
    recording.record_page("workers", "answered", 0.01)
    recording.record_job("housekeeping", "done", 0.5)
    gc.collect()
    gc.collect()  # lets go of what holds only what the first one let go

    waiting = list(recording._waiting)
    recording.fill_in()

    assert len(waiting) >= 2
    assert not [each[0] for each in waiting if gc.is_tracked(each)]


def test_counts_of_event_loops_read_like_those_of_the_library() -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    bounds = (0.005, 0.1, 1.0, 60.0)
    seconds = LoopHistogram("took_seconds", "Time.", "stage", bounds, ours)
    asked = LoopCounter("asked", "Requests.", ["bot", "outcome"], ours)
    their_seconds = Histogram("took_seconds", "Time.", ["stage"], buckets=bounds, registry=theirs)
    their_asked = Counter("asked", "Requests.", ["bot", "outcome"], registry=theirs)

    for stage, value in [("whole", 0.005), ("whole", 0.0051), ("whole", 61), ("saved", 0), ("saved", 1.0)]:
        seconds.add(stage, value)
        their_seconds.labels(stage).observe(value)
    for bot, outcome in [(3, "answered"), (3, "late"), (3, "answered")]:
        asked.add(bot, outcome)
        their_asked.labels(bot, outcome).inc()

    def lines(registry: CollectorRegistry) -> list[str]:
        return [line for line in generate_latest(registry).decode().splitlines() if "_created" not in line]

    assert sorted(lines(ours)) == sorted(lines(theirs))
