"""Tables for papers: what others wrote is printed, never run, and every table is one that LaTeX takes."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from evaluation.files.writing import escaped, estimate, number, p
from evaluation.protocols.facts import Talks
from evaluation.questions import (
    LIKERT,
    PREFERENCE,
    SSA,
    VOTES,
    Choice,
    Kind,
    Question,
    QuestionSet,
    Subject,
    coded_answers,
)
from evaluation.report.answers import AskData
from evaluation.report.figures import coded_questions, text_questions
from evaluation.report.label_columns import Analysis, AnalysisPlan, Judged
from evaluation.report.publishing.latex import tables
from evaluation.report.studies.conversations import StudyData, study_result
from evaluation.report.studies.judging import JudgedItems, judging_figures
from evaluation.report.studies.pairs import JudgedPairs, pair_figures

HOSTILE = (
    'R&D_{1}% $x^2$ \\input{/etc/passwd} #1 ~ [5cm] * <a|b> "`\nnew\\\\ \u2028line \x85 & & \\end{tabular}'
)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("R&D 100%", r"R\&D 100\%"),
        (r"\input{/etc/passwd}", r"\textbackslash{}input\{/etc/passwd\}"),
        ("$x^2_i$ #1 ~", r"\$x\textasciicircum{}2\_i\$ \#1 \textasciitilde{}"),
        ("two\nlines\tand\x00more", "two lines and more"),
        ("[5cm] *", "{[}5cm] {*}"),  # after the end of a row they would be its options
        ("a < b | c > d", r"a \textless{} b \textbar{} c \textgreater{} d"),
        ('`Größe" 日本', r"\`{}Größe'' 日本"),
    ],
)
def test_no_character_is_a_command(text: str, printed: str) -> None:
    assert escaped(text) == printed


def test_numbers_have_minus_signs_and_unknown_ones_are_dashes() -> None:
    assert [number(-7.25), number(-0.04), number(None), number(0.514, 2)] == ["$-$7.2", "0.0", "--", "0.51"]
    assert [p(0.00004), p(0.04), p(None)] == ["$<$ 0.001", "0.040", "--"]
    assert estimate({"value": 250 / 3, "low": 70.04, "high": -90.06}) == "83.3 [70.0, $-$90.1]"
    assert [estimate({"value": None}), estimate({}), estimate({"value": 50.0, "undefined": "…"})] == [
        "--", "--", "50.0",
    ]  # fmt: skip


_COMMANDS = {
    "textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater", "textbar", "alpha",
    "kappa", "pm", "times",
}  # fmt: skip
_CONTROL = set("{}$&#%_`,")


def cells(line: str) -> list[str]:
    """The cells of a row by LaTeX's own rules; fails where it would stop, or run something."""
    found, depth, in_math, at = [""], 0, False, 0
    assert line.endswith(r" \\"), line
    line = line[:-3]
    while at < len(line):
        character = line[at]
        if character == "\\":
            command = re.match(r"[a-zA-Z]+|.", line[at + 1 :])
            assert command
            assert command.group() in _COMMANDS | _CONTROL, line
            found[-1] += character + command.group()
            at += 1 + len(command.group())
            continue
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            assert depth >= 0, line
        elif character == "$":
            in_math = not in_math
        elif character == "&":
            assert depth == 0, line
            assert not in_math, line
            found.append("")
            at += 1
            continue
        else:
            assert character not in ("%#~^" if in_math else "%#~^_"), line
        found[-1] += character
        at += 1
    assert depth == 0, line
    assert not in_math, line
    return found


def rows(table: str) -> Iterator[list[str]]:
    """The head and the rows of a table, which has nothing else."""
    comment, begin, *middle, end, rest = table.split("\n")
    assert comment.startswith("% ")
    assert rest == ""
    assert end == r"\end{tabular}"
    columns = re.fullmatch(r"\\begin\{tabular\}\{([lr]+)\}", begin)
    assert columns
    assert [middle[0], middle[2], middle[-1]] == [r"\hline"] * 3
    for line in (middle[1], *middle[3:-1]):
        of = cells(line)
        assert len(of) == len(columns.group(1)), line
        # After the end of a row these would be its options.
        assert not of[0].lstrip().startswith(("[", "*")), line
        yield of


def judged(questions: QuestionSet, seed: int) -> Judged:
    """Two hostile bots with 12 conversations each of three replies, of 12 workers; every answer by chance."""
    rng, n = np.random.default_rng(seed), 72
    given: dict[str, list[Any]] = {}
    answers = {}
    for question in coded_questions(questions):
        values = [choice.value for choice in question.choices]
        chosen = [values[k] for k in rng.integers(len(values), size=n)]
        if condition := question.asked_if:
            before = given[condition.question]
            chosen = [
                each if value in condition.any_of else question.otherwise
                for each, value in zip(chosen, before, strict=True)
            ]
        given[question.key] = chosen
        said = [[each] for each in chosen] if question.kind is Kind.SEVERAL else chosen
        answers[question.key] = coded_answers(question, said)
    number_of = np.repeat(np.arange(24), 3)
    return Judged(
        np.where(number_of % 2, HOSTILE, "Bob").astype(object), number_of + 1, np.tile([1, 2, 3], 24),
        np.array([f"w{k // 2}" for k in number_of], dtype=object), np.full(n, np.nan), np.full(n, np.nan),
        answers,
        {each.key: np.array([HOSTILE] * n, dtype=object) for each in text_questions(questions)},
    )  # fmt: skip


MANY = QuestionSet(
    "many",
    "What & {which}",
    frozenset({Subject.DIALOGUE}),
    (
        Question(
            "about",
            "About 50 % of $x_1$?",
            kind=Kind.SEVERAL,
            choices=(Choice("a", "Films & [TV]"), Choice("b", r"50 % {off} \input{x}")),
        ),
        Question("which", "Which #1?", choices=(Choice("x", "x_1"), Choice("y", "y^2"))),
        Question("why", "Why~?", kind=Kind.TEXT, required=False),
    ),
    "us",
)

EXCLUDED = {"w1": "x", "w5": HOSTILE}


def of_talks() -> dict[str, Any]:
    asks = [
        AskData("partner_turn", True, SSA, judged(SSA, 1)),
        AskData("dialogue", True, LIKERT, judged(LIKERT, 2)),
        AskData("partner_turn", False, VOTES, judged(VOTES, 3)),
        AskData("dialogue", True, MANY, judged(MANY, 4)),
    ]
    talks = Talks(False, "", 2, 20, "ssa", True, ["en"])
    return study_result(StudyData(asks, {}, AnalysisPlan(Analysis.ALL, "x", EXCLUDED), talks, None))


def test_every_ask_and_every_score_has_its_tables_by_both_analyses() -> None:
    result = of_talks()

    made = tables(result)

    asked = [result, *result["beside"]]
    for n, figures in enumerate(asked):
        for kind in ("scores", "comparisons", "agreement"):
            if not figures[kind if kind != "scores" else "columns"]:
                continue
            for suffix, part in (("", figures), ("-without-excluded", figures["other"])):
                name = (f"{kind}-{n}" if n else kind) + suffix
                head, *body = rows(made[name])
                wanted = {"scores": "bots"}.get(kind, kind)
                assert len(body) == len(part[wanted]), name
                whose = "all workers" if not suffix else "without the excluded workers"
                assert made[name].startswith(f"% Analysis: {whose}.")
                if kind == "scores":
                    assert head[1 : 1 + len(figures["columns"])] == [
                        f" {escaped(column['title'])} " for column in figures["columns"]
                    ]
    # Each pair by each score: its effect, odds ratio and margin of equivalence as the page has them.
    for line, pair in zip(list(rows(made["comparisons"]))[1:], result["comparisons"], strict=True):
        shown = [each.strip() for each in line]
        assert shown[3] == estimate(pair, "difference")
        for text, key in zip(shown[4:6], ("effect", "odds_ratio"), strict=True):
            ends = [number(pair[f"{key}_{end}"], 2) for end in ("low", "high") if f"{key}_{end}" in pair]
            assert text == number(pair[key], 2) + (f" [{', '.join(ends)}]" if ends else "")
        assert shown[8] == number(pair["equal_within"])
    assert all(list(rows(table)) for table in made.values())


def test_judged_items_and_pairs_have_theirs() -> None:
    plan = AnalysisPlan(Analysis.WITHOUT_EXCLUDED, "x", EXCLUDED)
    of = judged(SSA, 5)
    items = JudgedItems(of, np.tile([1, 2, 1], 24), np.ones(72, np.int64), np.arange(72), 3, 24)
    of_items = tables(judging_figures(SSA, items, plan=plan))
    of_sides = judged(PREFERENCE, 6)
    other = np.where(of_sides.bot == "Bob", HOSTILE, "Bob").astype(object)
    pairs = JudgedPairs(of_sides, other, np.arange(72), 3, 50, {f"Bob against {HOSTILE}": 72})
    of_pairs = tables(pair_figures(PREFERENCE, pairs, plan=plan))

    assert {"scores", "majority", "repetitions", "comparisons", "agreement-all", "majority-all"} <= set(
        of_items
    )
    assert {"scores", "preferences", "strengths", "preferences-all", "strengths-all"} <= set(of_pairs)
    assert all(list(rows(table)) for table in (*of_items.values(), *of_pairs.values()))
    (meeting,) = pair_figures(PREFERENCE, pairs, plan=plan)["preferences"][0]["meetings"]
    shown = [each.strip() for each in list(rows(of_pairs["preferences"]))[1]]
    assert shown[3:7] == [
        *(str(meeting[key]) for key in ("wins", "losses", "ties")),
        estimate(meeting, "lead"),
    ]


def test_questionnaires_have_a_table() -> None:
    asked = {
        "title": "About\nyou", "answers": 2, "people": 2,
        "questions": [
            {"question": HOSTILE, "choices": [{"choice": "[a]", "answers": 2, "share": 100.0}]},
            {"question": "Why?", "first": []},
        ],
    }  # fmt: skip
    made = tables(of_talks() | {"people": [asked]})["people"]

    assert list(rows(made))[1][1:] == [" {[}a] ", " 2 ", " 100.0"]
