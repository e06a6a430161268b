import csv
import io

import pytest

from tests.transcripts.importers.conftest import Read

# The columns that the platform's own download has.
RECORDS = (
    "ID", "Chat ID", "Datetime", "Chatbot ID", "Message", "Response", "Bot Input", "Study Key",
    "User Session Key", "Response Rating", "Chat Rating Quality", "Chat Rating Fluency",
    "Chat Rating Coherency", "Chat Rating Diversity", "Chat Rating Contingency", "Chat Rating Empathy",
    "Chat Rating Comments",
)  # fmt: skip
RATINGS = ("ID", "Chat ID", "Datetime", "Chatbot ID", "Quality", "Chat Length", "MTurk Code", "Study Key")


def row(number: int, chat: str, bot: str, message: str, response: str, *ratings: str) -> list[str]:
    about = ["2019-05-01T12:00:00", bot, message, response, "[]", "k", "s", "0"]
    return [str(number), chat, *about, *ratings]


def written(columns: tuple[str, ...], *rows: list[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerows([columns, *rows])
    return buffer.getvalue()


def test_rows_of_a_chat_are_one_conversation_with_its_ratings(read: Read) -> None:
    content = written(
        RECORDS,
        row(1, "c1", "vhred", "Hi, you", "Hello\nthere", "5", "6", "", "4", "3", "2", "fine"),
        row(2, "c1", "vhred", "Bye", "Bye!", "5", "6", "", "4", "3", "2", "fine"),
        row(3, "c2", "hred", "Yo", "Yes?"),
    )

    conversations, problems = read("neural-chat", content)

    assert problems == []
    assert [(each.id, each.line, each.speakers, each.texts) for each in conversations] == [
        ("c1", 2, ("User", "vhred"), ("Hi, you", "Hello\nthere", "Bye", "Bye!")),
        ("c2", 5, ("User", "hred"), ("Yo", "Yes?")),  # the response of c1 goes over two lines
    ]
    assert conversations[0].details == {
        "rating quality": "5",
        "rating fluency": "6",
        "rating diversity": "4",
        "rating contingency": "3",
        "rating empathy": "2",
        "rating comments": "fine",
    }


def test_the_download_of_ratings_says_which_file_is_wanted(read: Read) -> None:
    conversations, problems = read(
        "neural-chat", written(RATINGS, ["1", "c1", "", "vhred", "5", "3", "", "k"])
    )

    assert conversations == []
    assert "Import the download of chat records" in problems[0][1]


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        ("", 1, "no column “Chat ID”"),
        (written(RECORDS[:5], ["1"]), 1, "no column “Response”"),
        (written(RECORDS, ["1"] * 30), 2, "30 cells"),
        (written(RECORDS, row(1, "", "b", "m", "r")), 2, "no chat id"),
        (written(RECORDS, row(1, "c", "b", "m", "")), 2, "b says nothing"),
        (written(RECORDS) + '1,"never closed', 2, "no CSV"),
        (written(RECORDS) + '1,"' + "x" * 200_000 + '"', 2, "no CSV"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(read: Read, content: str, line: int, says: str) -> None:
    _, problems = read("neural-chat", content)

    assert [number for number, _ in problems] == [line]
    assert says in problems[0][1]
