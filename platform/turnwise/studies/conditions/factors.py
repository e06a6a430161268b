"""Between-subject factors of a study: their levels, what people in each condition get, and their check.

As text, each level has a line `# factor: level`. Below it may stand `bots: NAME, NAME` and
`scenarios: NAME, NAME`, which restrict what people in this level get. Then comes the text that they read
beside the instructions; a lone `-` stands for no text.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, TypedDict

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from evaluation.statistics.linear_models.factorial import MOST_CELLS
from turnwise.contexts.tables import Finding, text_problem
from turnwise.studies.models import Study

MOST_FACTORS, MOST_LEVELS, MOST_NAMES = 4, 12, 200
LONGEST_FACTOR, LONGEST_LEVEL, LONGEST_TEXT = 30, 40, 4000
MOST_CHARACTERS = 100_000
NO_TEXT = "-"

Condition = Mapping[str, str]
"""By name of a factor, the level of a participant."""
Restricted = Literal["bots", "scenarios"]

_HEADER = re.compile(r"#(?!#)\s*(?P<named>.*)")
_RESTRICTION = re.compile(r"(?P<kind>bots|scenarios)\s*:(?P<names>.*)", re.IGNORECASE)
_FACTOR = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LEVEL = re.compile(r"[\w.+-]+( [\w.+-]+)*")
_TAKEN = frozenset(("bot", "chatbot", "scenario"))
"""Names of what the report and the exports split by in any case."""


class Level(TypedDict):
    """A level of a factor.

    Attributes:
        name: unique in its factor.
        text: what people in it read beside the instructions; empty for nothing.
        bots: names of the only bots that they get; empty for all.
        scenarios: names of the only scenarios that they get; empty for all.
    """

    name: str
    text: str
    bots: list[str]
    scenarios: list[str]


class Factor(TypedDict):
    """A factor with its levels, in the order of the text."""

    name: str
    levels: list[Level]


@dataclass(slots=True)
class Parsed:
    """Content of a text: its factors, and the problems that forbid all of it."""

    factors: list[Factor] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)


# --- reading -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Block:
    """A header with the lines below it."""

    line: int
    named: str
    below: list[str] = field(default_factory=list)


def parse(text: str) -> Parsed:
    """Parse factors from their text; any problem gives no factors."""
    parsed, lines = Parsed(), dict[tuple[str, str], int]()
    blocks, before = _blocks(text)
    if before:
        says = _("This line stands before the first level. Write a line such as “# tone: formal” above it.")
        parsed.problems.append(Finding(before, says))
    for block in blocks:
        _read_block(block, parsed, lines)
    parsed.problems += _faults_of_factors(parsed.factors, lines)
    parsed.problems.sort(key=lambda problem: problem.line)
    if parsed.problems:
        parsed.factors = []
    return parsed


def _blocks(text: str) -> tuple[list[_Block], int]:
    """The blocks of a text, and the number of the first line that stands before all of them; 0 for none."""
    blocks: list[_Block] = []
    before = 0
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1):
        if header := _HEADER.fullmatch(line.rstrip()):
            blocks.append(_Block(number, header["named"].strip()))
        elif blocks:
            blocks[-1].below.append(line)
        elif line.strip() and not before:
            before = number
    return blocks, before


def _read_block(block: _Block, parsed: Parsed, lines: dict[tuple[str, str], int]) -> None:
    """Add the level of a block, or its problems; `lines` maps factors and levels to their first lines."""
    factor, colon, name = (part.strip() for part in block.named.partition(":"))
    problems = [*_faults_of_header(factor, name, has_colon=bool(colon))]
    level, faults = _level(name, block)
    parsed.problems += [Finding(block.line, fault) for fault in problems]
    parsed.problems += faults
    if problems:
        return
    first = lines.setdefault((factor.lower(), name.lower()), block.line)
    if first != block.line:
        says = _("“%(factor)s: %(level)s” stands in line %(line)d, too. Give each level a name of its own.")
        parsed.problems.append(Finding(block.line, says % {"factor": factor, "level": name, "line": first}))
        return
    known = next((each for each in parsed.factors if each["name"].lower() == factor.lower()), None)
    if known is None:
        lines[factor.lower(), ""] = block.line
        parsed.factors.append(Factor(name=factor, levels=[level]))
    else:
        known["levels"].append(level)


def _faults_of_header(factor: str, level: str, *, has_colon: bool) -> Iterator[str]:
    if not (has_colon and factor and level):
        yield _(
            "“%(line)s” does not name a factor and a level. Write both, such as “# tone: formal”; if the "
            "line is a heading of a text, begin it with ##."
        ) % {"line": f"# {factor}{':' if has_colon else ''}"[:60]}
        return
    if len(factor) > LONGEST_FACTOR or not _FACTOR.fullmatch(factor):
        yield _(
            "The factor “%(name)s” cannot be a column of exports. Take up to 30 letters (a to z), digits "
            "and _, with a letter first."
        ) % {"name": factor[:LONGEST_LEVEL]}
    elif factor.lower() in _TAKEN:
        yield _("The report compares by “%(name)s” in any case. Choose another name for the factor.") % {
            "name": factor
        }
    if len(level) > LONGEST_LEVEL or not _LEVEL.fullmatch(level):
        yield _(
            "The level “%(name)s” cannot be used. Take up to 40 letters, digits and . _ + -, with single "
            "spaces."
        ) % {"name": level[:LONGEST_LEVEL]}


def _level(name: str, block: _Block) -> tuple[Level, list[Finding]]:
    """The level of a block, with the problems of what stands below its header."""
    level, faults = Level(name=name, text="", bots=[], scenarios=[]), list[Finding]()
    number, below = block.line, list(block.below)
    while below and (not below[0].strip() or _RESTRICTION.fullmatch(below[0].strip())):
        number, line = number + 1, below.pop(0).strip()
        if line:
            faults += [Finding(number, fault) for fault in _restrict(level, line)]
    text = "\n".join(below).strip()
    if not text and not (level["bots"] or level["scenarios"]):
        says = _(
            "“%(header)s” has no text. Write below it what these people read beside the instructions, or "
            "a lone - if they read nothing more."
        )
        faults.append(Finding(block.line, says % {"header": block.named[:80]}))
    elif text not in ("", NO_TEXT):
        what = _("The text of “%(header)s”") % {"header": block.named[:80]}
        why = text_problem(text, limit=LONGEST_TEXT, what=what)
        faults += [Finding(number + 1, f"{why} {_('Correct it.')}")] if why else []
        level["text"] = text
    return level, faults


def _restrict(level: Level, line: str) -> Iterator[str]:
    """Add the names of a line `bots:` or `scenarios:` to a level; yields its problems."""
    found = _RESTRICTION.fullmatch(line)
    assert found
    kind: Restricted = "bots" if found["kind"].lower() == "bots" else "scenarios"
    names = [name for each in found["names"].split(",") if (name := each.strip())]
    if not names:
        yield _("“%(kind)s:” names none. Write names with commas between them, or remove the line.") % {
            "kind": kind
        }
    if level[kind]:
        yield _("This level has two lines “%(kind)s:”. Write all names in one.") % {"kind": kind}
    if twice := next((name for name in names if names.count(name) > 1), ""):
        yield _("“%(name)s” stands twice in this line. Remove one.") % {"name": twice[:LONGEST_LEVEL]}
    if len(names) > MOST_NAMES:
        yield _("There are %(n)d names, more than %(most)d. Leave the line out, or name fewer.") % {
            "n": len(names), "most": MOST_NAMES,
        }  # fmt: skip
    level[kind] = names


def _faults_of_factors(factors: Sequence[Factor], lines: Mapping[tuple[str, str], int]) -> Iterator[Finding]:
    """Problems with the numbers of factors, levels and conditions."""
    for factor in factors:
        line, number = lines[factor["name"].lower(), ""], len(factor["levels"])
        if number < 2:
            says = _("The factor “%(name)s” has one level. Add a second one, or remove the factor.")
            yield Finding(line, says % {"name": factor["name"]})
        if number > MOST_LEVELS:
            says = _("The factor “%(name)s” has %(n)d levels, more than %(most)d. Remove some.")
            yield Finding(line, says % {"name": factor["name"], "n": number, "most": MOST_LEVELS})
    if len(factors) > MOST_FACTORS:
        beyond = lines[factors[MOST_FACTORS]["name"].lower(), ""]
        says = _("There are %(n)d factors, more than %(most)d. Remove some from here on.")
        yield Finding(beyond, says % {"n": len(factors), "most": MOST_FACTORS})
    elif (cells := len(list(conditions_of(factors)))) > MOST_CELLS:
        says = _("The levels combine to %(n)d conditions, more than %(most)d. Remove levels or factors.")
        yield Finding(1, says % {"n": cells, "most": MOST_CELLS})


def as_text(factors: Sequence[Factor]) -> str:
    """Format factors as `parse` reads them."""
    blocks = [
        "\n".join(
            [
                f"# {factor['name']}: {level['name']}",
                *(f"bots: {', '.join(level['bots'])}" for _each in level["bots"][:1]),
                *(f"scenarios: {', '.join(level['scenarios'])}" for _each in level["scenarios"][:1]),
                level["text"] or NO_TEXT,
            ]
        )
        for factor in factors
        for level in factor["levels"]
    ]
    return "\n\n".join(blocks)


# --- conditions ----------------------------------------------------------------------------------------


def conditions_of(factors: Sequence[Factor]) -> Iterator[dict[str, str]]:
    """Every condition of the full crossing; one empty condition without factors."""
    names = [factor["name"] for factor in factors]
    for levels in product(*([level["name"] for level in factor["levels"]] for factor in factors)):
        yield dict(zip(names, levels, strict=True))


def levels_in(factors: Sequence[Factor], condition: Condition) -> list[Level]:
    """The level of each factor in a condition, in the order of the factors."""
    return [
        level
        for factor in factors
        for level in factor["levels"]
        if condition.get(factor["name"]) == level["name"]
    ]


def texts_in(factors: Sequence[Factor], condition: Condition) -> list[str]:
    """What people in a condition read beside the instructions, without names of factors or levels."""
    return [level["text"] for level in levels_in(factors, condition) if level["text"]]


def names_in(factors: Sequence[Factor], condition: Condition, kind: Restricted) -> frozenset[str] | None:
    """Names of the only bots or scenarios that people in a condition get; None for all."""
    named = [frozenset(level[kind]) for level in levels_in(factors, condition) if level[kind]]
    return frozenset.intersection(*named) if named else None


def restricts(factors: Sequence[Factor], kind: Restricted) -> bool:
    """True if a level restricts the bots or the scenarios."""
    return any(level[kind] for factor in factors for level in factor["levels"])


def title_of(condition: Condition) -> str:
    """A condition in words, for researchers."""
    return ", ".join(f"{factor}: {level}" for factor, level in condition.items())


def column_of(factor: str) -> str:
    """Name of a factor's column in files."""
    return f"condition_{factor}"


def level_choices(factors: Sequence[Factor]) -> dict[str, str]:
    """Filters of lists by level, as `factor:level`, each with its title."""
    pairs = [(factor["name"], level["name"]) for factor in factors for level in factor["levels"]]
    return {f"{factor}:{level}": f"{factor}: {level}" for factor, level in pairs}


def chosen_level(choice: str) -> dict[str, str]:
    """The factor and level of a key of `level_choices`."""
    factor, _colon, level = choice.partition(":")
    return {factor: level}


def names_unknown(factors: Sequence[Factor], kind: Restricted, known: Collection[str]) -> list[str]:
    """Sentences about bots or scenarios that a level names and the study does not have.

    Args:
        factors: the factors of the study.
        kind: what is looked at.
        known: names of the study's bots, or of the rows in its table of scenarios.
    """
    says = {
        "bots": _("“%(level)s” names the bot “%(name)s”, which the study does not have. It has: %(known)s."),
        "scenarios": _(
            "“%(level)s” names the scenario “%(name)s”, which is not in the study's table. It has: %(known)s."
        ),
    }[kind]
    return [
        says
        % {
            "level": f"{factor['name']}: {level['name']}",
            "name": name[:LONGEST_LEVEL],
            "known": ", ".join(sorted(known)[:20]) or _("none"),
        }
        for factor in factors
        for level in factor["levels"]
        for name in level[kind]
        if name not in known
    ]


def why_empty(factors: Sequence[Factor]) -> list[str]:
    """Sentences about conditions whose levels have no bot or no scenario in common."""
    says = {
        "bots": _("No bot is left for people with %(condition)s. Name one that all these levels have."),
        "scenarios": _(
            "No scenario is left for people with %(condition)s. Name one that all these levels have."
        ),
    }
    kinds: tuple[Restricted, ...] = ("bots", "scenarios")
    return [
        says[kind] % {"condition": title_of(condition)}
        for condition in conditions_of(factors)
        for kind in kinds
        if names_in(factors, condition, kind) == frozenset()
    ]


def why_factors_unfit(study: Study) -> list[str]:
    """Sentences about names that the study does not have, and conditions that leave no bot or scenario."""
    if not study.factors:
        return []
    bots = set(study.study_bots.values_list("bot__name", flat=True))
    scenarios = {row["name"] for row in study.scenarios}
    unknown = names_unknown(study.factors, "bots", bots) + names_unknown(
        study.factors, "scenarios", scenarios
    )
    return unknown or why_empty(study.factors)


def refuse_unfit_factors(study: Study) -> None:
    """Refuse factors that do not fit the study; a study without bots may get them later.

    Raises:
        ValidationError: says which names are unknown, or which conditions leave nothing.
    """
    if not study.factors or not study.study_bots.exists():
        return
    if unfit := why_factors_unfit(study):
        raise ValidationError({"factors": unfit})
