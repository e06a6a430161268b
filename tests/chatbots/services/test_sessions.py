import pytest

from chatbots.base import Context, Speaker, Turn
from chatbots.bots.http import at_pointer, check_pointer
from chatbots.services.bot import Sessions


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def context(*texts, dialogue="d1"):
    """The human begins; speakers alternate."""
    speakers = (Speaker.HUMAN, Speaker.BOT)
    return Context(tuple(Turn(speakers[n % 2], text) for n, text in enumerate(texts)), dialogue=dialogue)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def sessions(clock):
    return Sessions(most=2, seconds=10.0, clock=clock)


def test_a_session_is_found_by_the_next_turn_of_its_dialogue(sessions):
    sessions.keep(context("Hi"), "Hello\x00", "s1")

    assert sessions.take(context("Hi", "Hello", "Well")) == "s1"


def test_a_session_that_was_taken_is_gone_until_it_is_kept_again(sessions):
    sessions.keep(context("Hi"), "Hello", "s1")
    sessions.take(context("Hi", "Hello", "Well"))

    assert sessions.take(context("Hi", "Hello", "Well")) is None


@pytest.mark.parametrize(
    "asked",
    [
        context("Hi", "Hello", "Well", dialogue="d2"),
        context("Hi", "Hello", "Well", dialogue=None),
        context("Hi", "Something else", "Well"),
        context("Hi", "Hello", "Well", "So", "And"),
    ],
    ids=["another dialogue", "no dialogue", "another reply was said", "turns in between"],
)
def test_a_session_that_knows_other_turns_is_not_used(sessions, asked):
    sessions.keep(context("Hi"), "Hello", "s1")

    assert sessions.take(asked) is None


def test_a_session_ends_when_it_is_unused_for_long(sessions, clock):
    sessions.keep(context("Hi"), "Hello", "s1")
    clock.now = 10.5

    assert sessions.take(context("Hi", "Hello", "Well")) is None
    assert sessions.drop_over() == ["s1"]


def test_the_oldest_sessions_end_when_there_are_too_many(sessions, clock):
    for number in range(4):
        clock.now = number
        sessions.keep(context("Hi", dialogue=f"d{number}"), "Hello", f"s{number}")

    assert sessions.drop_over() == ["s0", "s1"]
    assert sessions.drop_all() == ["s2", "s3"]
    assert sessions.drop_all() == []


# The document and the values are those of RFC 6901, section 5.
RFC_6901 = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "m~n": 8, " ": 7, 'k"l': 6}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", RFC_6901),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/m~0n", 8),
        ("/ ", 7),
        ('/k"l', 6),
    ],
)
def test_a_pointer_finds_its_place(pointer, value):
    assert at_pointer(RFC_6901, check_pointer(pointer)) == value


@pytest.mark.parametrize("pointer", ["/foo/2", "/foo/-", "/foo/01", "/foo/bar", "/no", "/foo/0/x", "/foo/-1"])
def test_a_place_that_is_not_there_is_named(pointer):
    with pytest.raises(LookupError, match=f"there is no {pointer}"):
        at_pointer(RFC_6901, pointer)


@pytest.mark.parametrize("pointer", ["foo", "foo/0", "/~", "/a~2b"])
def test_an_invalid_pointer_is_refused(pointer):
    with pytest.raises(ValueError, match="Write the path to the reply as /answers/0/text"):
        check_pointer(pointer)
