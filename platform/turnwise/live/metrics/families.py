"""Every metric that a process measures itself. Labels take few values, and none that a person has typed."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from turnwise.live.metrics.counting import LoopCounter, LoopHistogram

REGISTRY = CollectorRegistry()

STAGES = ("message_saved", "bot_answered", "reply_saved", "whole")
"""Parts of a turn, in order; `whole` is the time from the message to its reply on the page."""

OUTCOMES = ("answered", "busy", "late", "failed", "not_hosted", "over_budget", "cancelled", "other")
"""Outcomes of asking a bot."""

JOB_OUTCOMES = ("done", "failed")

SOCKETS = ("dialogues", "batches", "lobby", "writing", "operating", "previews", "other")
"""Kinds of sockets, by the first part of their address."""

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 60.0)

VISITORS = ("workers", "staff", "programs")
"""Who asks for pages: workers, people who have an account or none yet, and programs that use the API."""

PAGE_STATUSES = ("answered", "refused", "failed")
"""How pages end: with a status below 400, below 500, or above."""

PAGE_SECONDS = Histogram(
    "turnwise_page_seconds",
    "Time of pages and API calls in the server, by visitors and how they end.",
    ["visitors", "status"],
    buckets=_SECONDS,
    registry=REGISTRY,
)
TURN_SECONDS = LoopHistogram(
    "turnwise_turn_seconds",
    "Time of turns in conversations with bots, by stage.",
    "stage",
    _SECONDS,
    REGISTRY,
)
REPLY_SECONDS = LoopHistogram(
    "turnwise_reply_seconds",
    "Time from a request to a bot to its response, whoever asked.",
    "bot",
    _SECONDS,
    REGISTRY,
)
FIRST_TEXT_SECONDS = LoopHistogram(
    "turnwise_first_text_seconds",
    "Time to the first text of replies that are shown while they grow.",
    "bot",
    _SECONDS,
    REGISTRY,
)
REPLIES = LoopCounter("turnwise_replies", "Requests to bots, by outcome.", ["bot", "outcome"], REGISTRY)
BATCH_STEPS = LoopHistogram(
    "turnwise_batch_steps",
    "Steps of many people in one database statement.",
    "step",
    (1, 2, 5, 10, 20, 50, 100),
    REGISTRY,
)
BATCH_SECONDS = LoopHistogram(
    "turnwise_batch_seconds",
    "Time of a batch in the database.",
    "step",
    _SECONDS[:-2],
    REGISTRY,
)
BATCHES_FAILED = LoopCounter(
    "turnwise_batches_failed", "Batches that were not committed.", ["step"], REGISTRY
)
JOBS = Counter("turnwise_jobs", "Background jobs that ended.", ["task", "outcome"], registry=REGISTRY)
JOB_SECONDS = Histogram(
    "turnwise_job_seconds",
    "Time of background jobs.",
    ["task"],
    buckets=(0.1, 0.5, 1, 5, 15, 60, 300, 900),
    registry=REGISTRY,
)
BATCH_QUEUE = Gauge(
    "turnwise_batch_queue", "Steps that wait for the next batch.", ["step"], registry=REGISTRY
)
OPEN_SOCKETS = Gauge("turnwise_open_sockets", "Open WebSockets.", ["kind"], registry=REGISTRY)
