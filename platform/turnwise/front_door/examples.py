"""Example reports of rehearsed studies; `scripts/example_reports.py` makes their files anew."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

FOLDER = Path(__file__).with_name("examples")


@dataclass(frozen=True, slots=True)
class ExampleKind:
    """A kind of study of which there is an example.

    Attributes:
        key: name of its file, and in its address.
        title: what people do in it.
        shows: what its report answers.
    """

    key: str
    title: str | Promise
    shows: str | Promise


EXAMPLES = (
    ExampleKind(
        "talk",
        _("Talk, and judge each reply"),
        _("People talk with a chatbot and say of each reply whether it is sensible and specific."),
    ),
    ExampleKind(
        "ratings",
        _("Talk, then rate the conversation"),
        _("People talk with a chatbot and rate the whole conversation at the end, on several scales."),
    ),
    ExampleKind(
        "responses",
        _("Judge written responses"),
        _("Three raters read each response of three systems to the same prompts; with their agreement."),
    ),
    ExampleKind(
        "pairs",
        _("Say which of two is better"),
        _("Raters compare responses two at a time; wins, losses and ties become strengths on one scale."),
    ),
    ExampleKind(
        "arena",
        _("Two chatbots at once"),
        _("People write to two unnamed chatbots at the same time and vote; one ranking of all."),
    ),
)
"""The examples, in the order of their page."""


@dataclass(frozen=True, slots=True)
class Example:
    """A finished report of a rehearsed study.

    Attributes:
        snapshot: what a published report has (`publications/snapshots`).
        charts: its charts, each with `name`, `svg` and `narrow_svg`.
        workers: simulated people who came.
        verdict: whether the report found what was injected, in a sentence.
        findings: each injected effect: whether it `holds`, and its `words`.
    """

    snapshot: Mapping[str, Any]
    charts: Sequence[Mapping[str, Any]]
    workers: int
    verdict: str
    findings: Sequence[Mapping[str, Any]]

    @property
    def answer(self) -> Any:
        """The main result in a sentence or two; None if there is none."""
        return self.snapshot["results"]["asks"][0].get("answer")

    @property
    def labels(self) -> int:
        """Number of answers that the report rests on."""
        return int(self.snapshot["results"]["asks"][0]["sizes"].get("labels", 0))


@cache
def load(key: str) -> Example:
    """Read an example; its file comes with the code and never changes while this runs."""
    return Example(**json.loads((FOLDER / f"{key}.json").read_text(encoding="utf-8")))
