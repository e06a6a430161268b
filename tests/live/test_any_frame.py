"""What holds for whatever a socket is sent: it is a frame of a known type, or refused in words."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import MakeStudy, OpenTab, start_dialogue
from tests.fuzzing import ANYTHING, ODD, TEXTS, TIMES, tries
from turnwise.crowd import worker_socket
from turnwise.dialogues import pictures
from turnwise.dialogues.turn_taking import LONGEST_MS, TypingMeasurement
from turnwise.labels.services import Timing
from turnwise.live.frames import RefusedError, as_json, field, parse_frame, uuid_field

TYPES = (
    "ping", "more_time", "turn", "label", "retry", "stop", "regenerate", "keep_version", "finish", "give_up",
    "here", "typing", "end_alone",
)  # fmt: skip
NAMES = st.sampled_from(
    ("text", "key", "position", "answers", "ask", "version", "number", "timing", "typed", "picture", "of",
     "description", "shown_ms", "answer_ms", "pasted", "ms", "sensible", "specific", "type")
)  # fmt: skip
VALUES = (
    ODD
    | ANYTHING
    | st.dictionaries(NAMES, ODD, max_size=4)
    | st.uuids().map(str)
    | st.integers(-2, 6)
    | st.sampled_from(("session", "message", {"sensible": True, "specific": False}, "Hello."))
)
FRAMES = st.builds(
    lambda kind, fields: {**fields, "type": kind},
    st.sampled_from(TYPES) | TEXTS,
    st.dictionaries(NAMES, VALUES, max_size=6),
)

MEASURED = st.dictionaries(NAMES, VALUES, max_size=4) | ANYTHING


def dumped(value: Any) -> str:
    try:
        return json.dumps(value)
    except ValueError:  # a number of thousands of digits
        return "{}"


@tries(300)
@given(st.text(max_size=200) | st.builds(dumped, FRAMES) | st.builds(dumped, ANYTHING))
def test_any_text_is_a_frame_or_refused(text: str) -> None:
    try:
        frame = parse_frame(text, TYPES)
    except RefusedError as refusal:
        frame = {"type": refusal.reason}

    assert frame["type"] in (*TYPES, "not_json", "unknown_type")


@tries(200)
@given(ANYTHING)
def test_any_field_is_of_its_kind_or_refused(value: Any) -> None:
    kinds: tuple[tuple[Callable[[], Any], type], ...] = (
        (lambda: field({"x": value}, "x", int), int),
        (lambda: field({"x": value}, "x", str), str),
        (lambda: uuid_field({"x": value}, "x"), UUID),
        (lambda: pictures.checked_hash(value), str),
        (lambda: pictures.checked_description(value), str),
    )
    for read, kind in kinds:
        with suppress(RefusedError):
            assert isinstance(read(), kind)


@tries(200)
@given(st.dictionaries(st.sampled_from(("timing", "typed")), MEASURED))
def test_measured_times_are_bounded_or_unknown(frame: dict[str, Any]) -> None:
    for value in Timing.of(frame):
        assert value is None or 0 <= value <= LONGEST_MS
    typed = TypingMeasurement.of(frame)
    assert typed is None or (typed.pasted >= 0 and 0 <= typed.typing_ms <= LONGEST_MS)


@tries(200)
@given(ANYTHING)
def test_whatever_is_sent_is_json(value: Any) -> None:
    json.loads(as_json(value))


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(60 * TIMES)
async def test_a_conversation_goes_on_after_whatever_its_socket_was_sent(
    make_study: MakeStudy,
    open_tab: OpenTab,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """No frame ends the connection, none is without an answer, and none leaves an error in the log."""
    monkeypatch.setattr(worker_socket, "BURST", 10**6)
    sent: list[dict[str, Any]] = []

    @tries(120)
    @given(FRAMES)
    def collect(frame: dict[str, Any]) -> None:
        if frame["type"] not in ("finish", "give_up"):  # which may end it rightly
            sent.append(frame)

    collect()
    study = await sync_to_async(make_study)(min_turns=4, max_turns=400)
    dialogue = await sync_to_async(start_dialogue)(study)
    tab = await open_tab(dialogue)
    for frame in sent:
        await tab.send_raw(text=dumped(frame))
        await tab.send(type="ping")
        await tab.receive("pong")
    assert [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")] == []
