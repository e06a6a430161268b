import csv
import io
import re

import pytest

from tests.transcripts.importers.conftest import PLENTY, Read
from turnwise.transcripts.importers import Problem, Rated, Source, checked, guessed

# The columns that the platform's own download has.
RECORDS = (
    "ID", "Chat ID", "Datetime", "Chatbot ID", "Message", "Response", "Bot Input", "Study Key",
    "User Session Key", "Response Rating", "Chat Rating Quality", "Chat Rating Fluency",
    "Chat Rating Coherency", "Chat Rating Diversity", "Chat Rating Contingency", "Chat Rating Empathy",
    "Chat Rating Comments",
)  # fmt: skip
RATINGS = (
    "ID", "Chat ID", "Datetime", "Chatbot ID", "User Session Key", "Quality", "Coherency", "Fluency",
    "Diversity", "Contingency", "Empathy", "Comments", "Chat Length", "MTurk Code", "MTurk User ID",
    "Study Key",
)  # fmt: skip


def row(
    number: int, chat: str, bot: str, message: str, response: str, *ratings: str, vote: str = "0"
) -> list[str]:
    about = ["2019-05-01T12:00:00", bot, message, response, "[]", "k", "s", vote]
    return [str(number), chat, *about, *ratings]


def written(columns: tuple[str, ...], *rows: list[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerows([columns, *rows])
    return buffer.getvalue()


def test_rows_of_a_chat_are_one_conversation_with_its_votes_and_ratings(read: Read) -> None:
    rated = ("5", "6", "7", "4", "3", "2", "fine")
    content = written(
        RECORDS,
        row(1, "c1", "vhred", "Hi, you", "Hello\nthere", *rated, vote="1"),
        row(2, "c1", "vhred", "Bye", "Bye!", *rated, vote="-1"),
        row(3, "c2", "hred", "Yo", "Yes?"),
    )

    conversations, problems = read("neural-chat", content)

    assert problems == []
    assert [(each.id, each.line, each.speakers, each.texts) for each in conversations] == [
        ("c1", 2, ("User", "vhred"), ("Hi, you", "Hello\nthere", "Bye", "Bye!")),
        ("c2", 5, ("User", "hred"), ("Yo", "Yes?")),  # the response of c1 goes over two lines
    ]
    first, second = conversations
    assert first.given == {
        "likert": {
            "quality": 5, "fluency": 6, "diversity": 4, "relatedness": 3, "empathy": 2, "comment": "fine",
        }
    }  # fmt: skip
    assert first.of_turns == ({}, {"votes": {"vote": 1}}, {}, {"votes": {"vote": -1}})
    assert (first.rater, first.details) == ("s", {"rating coherency": "7"})
    assert first.times == ("2019-05-01T12:00:00+00:00",) * 4
    assert (second.given, second.of_turns) == ({}, ({}, {}))  # 0 is no vote


def test_a_chat_may_begin_with_the_bot_and_end_with_the_user(read: Read) -> None:
    content = written(
        RECORDS, row(1, "c", "b", "", "Hi!"), row(2, "c", "b", "Yo", "Yes?"), row(3, "c", "b", "Bye", "")
    )

    (conversation,), problems = read("neural-chat", content)

    assert problems == []
    assert (conversation.speakers, conversation.texts) == (("b", "User"), ("Hi!", "Yo", "Yes?", "Bye"))


def rating(chat: str, *said: str, session: str = "s") -> list[str]:
    return ["1", chat, "", "vhred", session, *said, "3", "code", "worker", "k"]


def test_each_row_of_the_other_file_rates_a_conversation() -> None:
    content = written(
        RATINGS,
        rating("c1", "5", "7", "6", "4", "3", "2", "fine"),
        rating("c2", "", "", "", "", "", "", ""),  # nobody rated it
        rating("c3", *"11111", "8", ""),
        rating("c1", *"1111111"),
        rating("", *"1111111"),
    )

    assert guessed(content) == "neural-chat-ratings"
    found = list(checked(Source(io.BytesIO(content.encode())), "neural-chat-ratings", PLENTY))

    rated, *problems = found
    assert isinstance(rated, Rated)
    assert (rated.id, rated.line, rated.rater) == ("c1", 2, "s")
    assert rated.given == {
        "likert": {
            "quality": 5, "fluency": 6, "diversity": 4, "relatedness": 3, "empathy": 2, "comment": "fine",
        }
    }  # fmt: skip
    assert rated.details == {"rating coherency": "7"}
    assert [(each.line, each.what) for each in problems if isinstance(each, Problem)] == [
        (4, "Empathy is “8”. Write a number from 1 to 7."),
        (5, "Conversation “c1” is there already, from line 2."),
        (6, "This row has no chat id."),
    ]


def test_a_file_read_as_the_other_says_which_it_is(read: Read) -> None:
    assert "Choose the format of neural.chat ratings" in read("neural-chat", written(RATINGS))[1][0][1]
    assert "These are chat records" in read("neural-chat-ratings", written(RECORDS))[1][0][1]
    assert "no column “Quality”" in read("neural-chat-ratings", written(("ID", "Chat ID")))[1][0][1]


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        ("", 1, "no column “Chat ID”"),
        (written(RECORDS[:5], ["1"]), 1, "no column “Response”"),
        (written(RECORDS, ["1"] * 30), 2, "30 cells"),
        (written(RECORDS, row(1, "", "b", "m", "r")), 2, "no chat id"),
        (written(RECORDS, row(1, "c", "b", "m", "")), 2, "“b” says nothing"),
        (
            written(RECORDS, row(1, "c", "b", "m", "", vote="1")),
            2,
            "b says nothing in a turn that was judged",
        ),
        (written(RECORDS, row(1, "c", "b", "", "r")), 2, "here speaks: “b”"),
        (written(RECORDS, row(1, "c", "b", "m", "r", vote="up")), 2, "Response Rating is “up”. Write 1, -1"),
        (
            written(RECORDS, row(1, "c", "b", "m", "r", *"8112345")),
            2,
            "Quality is “8”. Write a number from 1",
        ),
        (written(RECORDS, row(1, "c", "b", "m", "r", "1")), 2, "Fluency is empty, and other ratings"),
        (
            written(RECORDS, row(1, "c", "b", "m", "r", *"1111111"), row(2, "c", "b", "m", "r", *"2111111")),
            3,
            "Quality is “2”, and “1” on line 2. All rows",
        ),
        (
            written(RECORDS, row(1, "c", "b", "m", "r", *"111111", "x" * 1001)),
            2,
            "Comments: The answer to .* is longer than 1000",
        ),
        (
            written(RECORDS, row(1, "c", "b", "m", "r")).replace("2019-05-01T", "May 1 "),
            2,
            "Datetime is “May",
        ),
        (written(RECORDS) + '1,"never closed', 2, "not CSV"),
        (written(RECORDS) + '1,"' + "x" * 200_000 + '"', 2, "not CSV"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(read: Read, content: str, line: int, says: str) -> None:
    _, problems = read("neural-chat", content)

    assert [number for number, _ in problems] == [line]
    assert re.search(says, problems[0][1])
