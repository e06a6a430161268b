"""Preview of a file of conversations, read in a subprocess: `python -m turnwise.transcripts.file_reading …`.

The process that serves pages serves workers, too, and a large file takes seconds of Python. Pure, so that
the process needs no Django and is there at once.
"""

import json
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from io import BytesIO
from typing import Any

from evaluation.texts.cleaning import script_of
from turnwise.live.subprocesses import run_module, shape_of
from turnwise.transcripts.importers import (
    Checked,
    Limits,
    Problem,
    Rated,
    ResearcherSets,
    Source,
    UnreadableError,
    checked,
    turn_table,
)
from turnwise.transcripts.importers.formats import Read

_MODULE = "turnwise.transcripts.file_reading"
_SHOWN_PROBLEMS = 100
_SHOWN_CONVERSATIONS = 3
_SHOWN_ROWS = 3
_TUPLES = (
    "speakers",
    "texts",
    "times",
    "of_turns",
    "own",
    "heard",
    "of_speakers",
    "generations",
    "turns_by_rater",
)


@dataclass(slots=True)
class Preview:
    """Preview of what an import would store.

    Attributes:
        conversations: that would come in.
        turns: turns of these conversations.
        labels: given elsewhere, that come with them or stay out (`labels_left_out`).
        labels_of: by speaker, how many of these are an outside rater's label of a turn.
        opening_labels_of: by speaker, how many of `labels_of` are of first turns.
        joined: turns that would be joined to the one before, because the same speaker went on.
        speakers: by name, their turns, in order of appearance.
        first: a few conversations.
        rated: conversations that a file of ratings rates, each with its line.
        rates: whether it is such a file, also where none of its ratings can come in.
        problems: the first of them, in the order of the file.
        problem_count: all of them.
        talkers_judge: whether people who talk judge each other in it, or themselves.
        scripts: how many conversations are mostly in which script, as far as that can be told.
        empty: turns without text that would be left out.
        with_system_message: conversations whose system message becomes reading material.
        tool_messages: calls of tools and their answers, which are kept beside the replies.
        header: names of a table's columns; empty for other formats.
        columns: columns of the parts of a turn that are read, by part.
        rows: the first rows of a table.
    """

    conversations: int = 0
    turns: int = 0
    labels: int = 0
    labels_of: dict[str, int] = field(default_factory=dict)
    opening_labels_of: dict[str, int] = field(default_factory=dict)
    joined: int = 0
    speakers: Counter[str] = field(default_factory=Counter)
    first: list[Checked] = field(default_factory=list)
    rated: dict[str, int] = field(default_factory=dict)
    rates: bool = False
    problems: list[Problem] = field(default_factory=list)
    problem_count: int = 0
    talkers_judge: bool = False
    scripts: dict[str, int] = field(default_factory=dict)
    empty: int = 0
    with_system_message: int = 0
    tool_messages: int = 0
    header: list[str] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)
    rows: list[list[str]] = field(default_factory=list)

    def add(self, found: Checked | Rated | Problem) -> None:
        if isinstance(found, Problem):
            self._add_problem(found)
            return
        if isinstance(found, Rated):
            self.labels += len(found.given)
            self.rated[found.id], self.rates = found.line, True
            return
        self.conversations += 1
        self.turns += len(found.texts)
        self.labels += found.labels
        self.joined += found.joined
        self.empty += found.empty
        self.with_system_message += any(text.key == "system" for texts in found.read for text in texts)
        self.tool_messages += sum(len(each.get("tools", ())) for each in found.generations)
        if script := script_of(found.texts):
            self.scripts[script] = self.scripts.get(script, 0) + 1
        self.talkers_judge |= found.is_of_raters
        for seat in (0, 1):
            self.speakers[found.speakers[seat]] += len(found.texts[seat::2])
            _add(self.labels_of, found.speakers[seat], sum(found.turn_labels[seat::2]))
        _add(self.opening_labels_of, found.speakers[0], found.turn_labels[0])
        if len(self.first) < _SHOWN_CONVERSATIONS:
            self.first.append(found)

    def labels_left_out(self, systems: Mapping[str, str], *, scripted_opening: bool) -> dict[str, int]:
        """Numbers of labels that would not be stored, by speaker; those without any are left out.

        Labels of turns are stored where a system says the turn, and it is no scripted opening.

        Args:
            systems: by speaker, the title of the system that they are; empty for a person.
            scripted_opening: whether first turns are scripted.
        """
        of_openings = self.opening_labels_of if scripted_opening else {}
        numbers = {
            name: of_openings.get(name, 0) if systems.get(name, "").strip() else number
            for name, number in self.labels_of.items()
        }
        return {name: number for name, number in numbers.items() if number}

    def leave_out(self, rated: str, why: Problem) -> None:
        """Turn the rating of a conversation into a problem."""
        del self.rated[rated]
        self.labels -= 1
        self._add_problem(why)

    def _add_problem(self, found: Problem) -> None:
        self.problem_count += 1
        if len(self.problems) < _SHOWN_PROBLEMS:
            self.problems.append(found)


def _add(counts: dict[str, int], name: str, number: int) -> None:
    if number:
        counts[name] = counts.get(name, 0) + number


def preview(source: Source, format_key: str, limits: Limits) -> Preview:
    """Read a whole file and preview what importing it would store."""
    seen = Preview()
    for found in checked(source, format_key, limits):
        seen.add(found)
    if format_key == turn_table.KEY:
        with suppress(UnreadableError):  # a problem of the preview already
            seen.header = turn_table.header_of(source)
            seen.rows = turn_table.sample_of(source, _SHOWN_ROWS)
            seen.columns = {**(source.columns or turn_table.guessed_columns(seen.header))}
    return seen


def preview_in_subprocess(
    content: bytes,
    format_key: str,
    limits: Limits,
    columns: Mapping[str, str] | None = None,
    researcher_sets: ResearcherSets | None = None,
) -> dict[str, Any]:
    """Preview a file in a subprocess; the JSON is for `preview_from_json`.

    Raises:
        subprocess.SubprocessError: it failed or took too long.
    """
    arguments = [format_key, str(limits.conversations), str(limits.turns), json.dumps(dict(columns or {}))]
    # In the first line of the input, since declarations may be longer than an argument can be.
    sets = json.dumps(asdict(researcher_sets or ResearcherSets())).encode()
    output = run_module(_MODULE, arguments, b"%b\n%b" % (sets, content))
    outcome: dict[str, Any] = json.loads(output)
    return outcome


SHAPE = shape_of(Preview, Checked, Problem, Read)
"""Part of the cache key of previews, so that other versions of the code do not read them."""


def preview_from_json(told: dict[str, Any]) -> Preview:
    """Build a preview from the JSON of `preview_in_subprocess`."""
    first = [_conversation(each) for each in told["first"]]
    problems = [Problem(**each) for each in told["problems"]]
    return Preview(**told | {"speakers": Counter(told["speakers"]), "first": first, "problems": problems})


def _conversation(told: dict[str, Any]) -> Checked:
    read = tuple(
        tuple(Read(**text | {"points": tuple(text["points"])}) for text in texts) for texts in told["read"]
    )
    return Checked(**told | {name: tuple(told[name]) for name in _TUPLES} | {"read": read})


def main() -> None:
    format_key, conversations, turns, columns = sys.argv[1:]
    limits = Limits(int(conversations), int(turns))
    researcher_sets = ResearcherSets(**json.loads(sys.stdin.buffer.readline()))
    source = Source(BytesIO(sys.stdin.buffer.read()), json.loads(columns), researcher_sets)
    seen = preview(source, format_key, limits)
    # `asdict` makes a Counter of pairs from a Counter.
    json.dump(asdict(seen) | {"speakers": dict(seen.speakers)}, sys.stdout)


if __name__ == "__main__":
    main()
