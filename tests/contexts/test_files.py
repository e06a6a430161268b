"""Context sets as files: what comes in, and what is said of lines that cannot."""

import csv
import io
import json
import threading

import pytest
from django.db import connection

from evaluation.files.writing import csv_text, harmless, original
from turnwise.contexts import files, services
from turnwise.contexts.files import ContextRow, parse
from turnwise.contexts.models import Context, ContextSet
from turnwise.contexts.tables import FileRefusedError, decoded


def said(text: str, ending: str = "jsonl") -> list[tuple[int, str]]:
    return [(problem.line, problem.say) for problem in parse(text, ending, language="en").problems]


def turns(text: str, ending: str) -> list[tuple[str, ...]]:
    parsed = parse(text, ending, language="en")
    assert parsed.problems == []
    return [row.turns for row in parsed.rows]


def test_a_json_line_gives_all_fields_of_a_context() -> None:
    line = {
        "id": "h-1", "turns": ["Do you paint?", "Sometimes."], "category": "hobbies", "language": "de",
        "consistency": True, "extends": None,
    }  # fmt: skip

    parsed = parse(json.dumps(line), "jsonl", language="en")

    expected = ContextRow(1, "h-1", ("Do you paint?", "Sometimes."), "hobbies", "de", True, "")
    assert parsed.rows == [expected]


def test_what_is_wrong_is_said_in_the_order_of_the_lines() -> None:
    text = '{"turns": ["Hi"], "id": "a"}\n{"turns": ["Ho"], "id": "a"}\nno json\n{"turns": []}\n'

    assert [line for line, _ in said(text)] == [2, 3, 4]


def test_csv_rows_keep_their_line_when_a_turn_has_several_lines() -> None:
    text = 'id,turn_1,turn_2\na,"one\ntwo",three\nb,,four\n'

    # Row b begins on line 4 of the file, because row a covers lines 2 and 3.
    assert said(text, "csv") == [(4, "Turn 1 is empty.")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Do you paint?\tSometimes.\nHello\n", [("Do you paint?", "Sometimes."), ("Hello",)]),
        ("A: Do you paint?\nB: Sometimes.\n\nA: Hello\n", [("Do you paint?", "Sometimes."), ("Hello",)]),
        ("\n\nB:Hi\nA:Hi you\n\n\n", [("Hi", "Hi you")]),
        ("A: Windows\r\nB: ends so\r\n", [("Windows", "ends so")]),
    ],
)
def test_plain_text_comes_with_tabs_or_with_speakers(text: str, expected: list[tuple[str, ...]]) -> None:
    assert turns(text, "txt") == expected


def test_a_context_without_an_id_has_the_same_one_wherever_it_stands() -> None:
    first = parse("One\nTwo\n", "txt", language="en").rows
    second = parse("New\nTwo\n", "txt", language="en").rows

    assert first[1].key == second[1].key
    assert first[0].key != second[0].key


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ('{"turns": ["Hi"]}\n{"turns": \n', 2, "not JSON"),
        ("[1, 2]", 1, "not a JSON object"),
        ('{"turns": []}', 1, "There are no turns"),
        ('{"turns": ["Hi", 7]}', 1, "Turn 2 is 7, not text"),
        ('{"turns": ["Hi", "  "]}', 1, "Turn 2 is empty"),
        ('{"turns": ["a\\u0000b"]}', 1, "control character (U+0000)"),
        (json.dumps({"turns": ["x" * 32_001]}), 1, "32,001 characters, more than 32,000"),
        (json.dumps({"turns": ["x"] * 101}), 1, "101 turns, more than 100"),
        ('{"id": "a b", "turns": ["Hi"]}', 1, "id “a b” cannot be used"),
        ('{"turns": ["Hi"], "language": "klingon please"}', 1, "is not a code such as en"),
        ('{"turns": ["Hi"], "consistency": "maybe"}', 1, "Write true or false"),
        ('{"id": "a", "turns": ["Hi"]}\n{"id": "a", "turns": ["Ho"]}', 2, "has the id a of line 1"),
        ('{"id": "a", "turns": ["Hi", "Ho"], "extends": "b"}', 1, "extends b, but that is not the same"),
        ("[" * 100_000, 1, "not JSON"),
        # The comma is missing before the 18th character, whichever line of the file that is.
        ('{"turns": ["Hi"]}\n{"turns": ["Hi"] "id": "a"}', 2, "Expecting ',' delimiter at character 18."),
    ],
)
def test_a_wrong_line_is_named_with_its_cure(text: str, line: int, part: str) -> None:
    assert [(number, part in say) for number, say in said(text)] == [(line, True)]


def test_one_speaker_twice_and_lines_of_nobody_are_named() -> None:
    assert said("A: Hi\nA: You there?\nwhat\n", "txt") == [
        (2, "A speaks twice in a row. Join the two turns into one."),
        (3, "This line begins with neither A: nor B:. Put each turn on one line."),
    ]


def test_a_csv_row_of_another_length_is_named() -> None:
    assert said("id,turn_1\na,b,c\n", "csv")[0][0] == 2


def test_exact_and_near_duplicates_and_unknown_fields_are_noted_but_may_come_in() -> None:
    lines = [
        {"id": "a", "turns": ["What is your favourite soup of all?"], "source": "mine"},
        {"id": "b", "turns": ["What is your favourite soup of all?"]},
        {"id": "c", "turns": ["Hi", "What's your favourite soup of all?"]},
        {"id": "d", "turns": ["Nothing like the others"]},
    ]

    parsed = parse("\n".join(map(json.dumps, lines)), "jsonl", language="en")

    assert parsed.may_be_imported
    # 33 and 31 four-letter runs, of which " wha", "what", "s yo" and the 25 of " your … all " are in both:
    # 28 / (33 + 31 - 28) = 0.78.
    assert [(note.line, note.say.split(":")[0][:36]) for note in parsed.notes] == [
        (1, "The field “source” is not known and "),
        (2, "The same turns as in line 1."),
        (3, "Ends almost like line 1 (78% of the "),
    ]


def test_a_file_that_is_no_text_is_refused_with_its_line() -> None:
    with pytest.raises(FileRefusedError, match="Line 2 is not UTF-8"):
        decoded(b"fine\n\xff\xfe", too_large="")
    with pytest.raises(FileRefusedError, match=r"This is a workbook .* save it as “CSV UTF-8”"):
        decoded(b"PK\x03\x04 a workbook", too_large="")
    with pytest.raises(FileRefusedError, match="in UTF-16"):
        decoded("turn_1\nHi\n".encode("utf-16"), too_large="")
    with pytest.raises(FileRefusedError, match="5,000,001 bytes, more than 5,000,000"):
        decoded(b"x" * 5_000_001, too_large="")
    with pytest.raises(FileRefusedError, match="empty"):
        decoded(b"\xef\xbb\xbf \n", too_large="")
    with pytest.raises(FileRefusedError, match="does not end in any of"):
        files.ending_of("contexts.pdf")


@pytest.mark.django_db
@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_what_is_exported_comes_in_again_as_it_was(ending: str) -> None:
    rows = [
        ContextRow(1, "a", ("=1+1", "'=quoted", 'two\nlines, and "quotes"'), "x", "en", False, ""),
        ContextRow(2, "b", ("Hi",), "", "zh", False, ""),
        ContextRow(3, "b1", ("Hi", "-5 degrees"), "", "zh", True, "b"),
    ]
    version = services.import_version(ContextSet.objects.create(name="s", title="S"), rows, origin="")

    lines = {"jsonl": files.jsonl_lines, "csv": files.csv_lines}[ending](list(version.contexts.all()))
    again = parse("".join(lines), ending, language="en")

    assert again.problems == []
    assert files.content_hash(again.rows) == version.content_hash


@pytest.mark.django_db
def test_an_exported_csv_has_no_cell_that_a_spreadsheet_runs() -> None:
    rows = [ContextRow(1, "a", ("=HYPERLINK(1)", "@x"), "", "en", False, "")]
    version = services.import_version(ContextSet.objects.create(name="s", title="S"), rows, origin="")

    cells = list(csv.reader(io.StringIO("".join(files.csv_lines(list(version.contexts.all()))))))

    assert cells[1][-2:] == ["'=HYPERLINK(1)", "'@x"]


@pytest.mark.parametrize("text", ["", "'", "=1", "'=1", "''=1", "a=1", "-", "'a", "\tx", "\uff1d1"])
def test_a_harmless_cell_gives_its_text_back(text: str) -> None:
    assert original(harmless(text)) == text


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_no_cell_begins_as_a_formula_does(start: str) -> None:
    text = f"{start}HYPERLINK(1)"

    assert next(csv.reader(io.StringIO(csv_text([(text,)])))) == [f"'{text}"]


@pytest.mark.django_db(transaction=True)
def test_the_open_benchmark_loaded_by_several_at_once_is_there_once() -> None:
    errors: list[BaseException] = []

    def load() -> None:
        try:
            services.load_open_mtb()
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=load) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert Context.objects.count() == 1477


@pytest.mark.django_db
def test_the_open_benchmark_keeps_all_it_has_on_the_way_in() -> None:
    version = services.load_open_mtb()

    lengths = [
        len(turns) for turns in Context.objects.filter(version=version).values_list("turns", flat=True)
    ]
    assert [lengths.count(n) for n in (1, 2, 3)] == [315, 500, 662]  # the paper's numbers
    assert version.contexts.filter(consistency=True).count() == 243  # the data card
    assert version.contexts.get(key="pleasantries-01a").extends == "pleasantries-01"


def test_contexts_that_are_all_alike_are_taken_without_comparing_them() -> None:
    """Two thousand long ones took a quarter of an hour of the process that serves workers."""
    words = " ".join(f"w{n:03d}" for n in range(100))
    lines = [json.dumps({"turns": [f"{words} {n}"]}) for n in range(400)]

    parsed = parse("\n".join(lines), "jsonl", language="en")

    assert parsed.may_be_imported
    assert [note.say.partition(":")[0] for note in parsed.notes] == ["Near duplicates are not looked for"]


def test_a_header_without_rows_is_said() -> None:
    (problem,) = parse("turn_1,turn_2\n", "csv", language="en").problems

    assert (problem.line, "nothing below the header" in problem.say) == (1, True)


@pytest.mark.parametrize("sign", [";", "\t"])
def test_columns_may_be_separated_by_semicolons_or_tabs(sign: str) -> None:
    parsed = parse(f"id{sign}turn_1\na{sign}Hi, there\nb{sign}Hello\n", "csv", language="en")

    assert [(row.key, row.turns) for row in parsed.rows] == [("a", ("Hi, there",)), ("b", ("Hello",))]


def test_two_columns_of_one_name_are_refused() -> None:
    (problem,) = parse("turn_1,turn_1\na,b\n", "csv", language="en").problems

    assert (problem.line, problem.say) == (1, "Two columns are called “turn_1”. Rename one of them.")


@pytest.mark.parametrize(
    ("text", "ending"),
    [("prompt,note\nWhy?,x\nHow?,\n", "csv"), ('{"prompt": "Why?"}\n{"prompt": "How?"}\n', "jsonl")],
)
def test_a_table_of_prompts_gives_contexts_of_one_turn(text: str, ending: str) -> None:
    parsed = parse(text, ending, language="en")

    assert ([row.turns for row in parsed.rows], parsed.problems) == ([("Why?",), ("How?",)], [])
