"""Tables for papers: what others wrote is printed, never run."""

import pytest

from reports.latex import escaped, tables


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


def test_unknown_values_are_dashes_and_intervals_are_in_brackets() -> None:
    counts = {"conversations": 2, "turns": 6, "labels": 6, "workers": 2}
    cells = [
        {"value": 250 / 3, "low": 70.04, "high": 90.06},
        {"value": None},
        {"value": 50.0, "undefined": "…"},
    ]
    course = {
        "bot": "A_b", "finished": 2, "under_way": 0, "bot_failed": 0, "latency": None, "faults": [],
        "repetition": {"undefined": "A_b has no turns."},
    }  # fmt: skip
    agreement = {
        "question": "Is it?", "replies": 4, "labels": 8, "percent": 75.0, "alpha": -0.125, "gwet_ac1": 0.6,
    }  # fmt: skip
    result = {
        "headline": "ssa",
        "columns": [{"title": title} for title in ("Sensibleness", "Specificity", "SSA")],
        "bots": [{"bot": "A_b", "cells": cells, **counts}],
        "comparisons": [
            {
                "title": "SSA", "first": "A_b", "second": "C", "difference": None, "effect": None,
                "p_holm": None, "odds_ratio": None, "mixed": {"undefined": "…"}, "equal_within": None,
            },
            {
                "title": "SSA", "first": "A_b", "second": "D", "difference": -7.25, "low": -9.0, "high": 0.04,
                "effect": -0.51, "p_holm": 0.00004, "odds_ratio": 0.514, "equal_within": 8.76,
                "mixed": {"odds_ratio": 0.4321, "low": 0.301, "high": 0.62, "p": 0.01},
            },
        ],
        "agreement": [agreement],
        "course": {"bots": [course], "repetition_rule": "It repeats."},
        "method": "95 % intervals", "level": 0.95, "primary": "all", "other": None,
    }  # fmt: skip

    made = tables(result)

    assert r"A\_b & 83.3 [70.0, 90.1] & -- & 50.0 & 2 & 6 & 6 & 2 \\" in made["scores"]
    assert r"SSA & A\_b & C & -- & -- & -- & -- & -- & -- \\" in made["comparisons"]
    compared = r"$-$7.2 [$-$9.0, 0.0] & $-$0.51 & 0.51 & 0.43 [0.30, 0.62] & $<$ 0.001 & 8.8"
    assert rf"SSA & A\_b & D & {compared} \\" in made["comparisons"]
    assert made["comparisons"].startswith("% Analysis: all workers.")
    assert r"Is it? & 4 & 8 & 75.0 & $-$0.12 & 0.60 \\" in made["agreement"]
    assert r"A\_b & 2 & 0 & 0 & 0 & -- & -- & -- & 0 \\" in made["course"]
