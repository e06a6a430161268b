"""A study's preregistered plan as files: hash, Markdown, and the layout of a public registry. Pure."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

Plan = Mapping[str, Any]
FORMAT = 1

SECTIONS = (
    "task", "asks", "main_score", "bots", "stopping_rule", "protocol", "languages", "instructions",
    "debriefing", "consent", "pay", "expected_minutes", "turnwise",
)  # fmt: skip
"""Parts of the plan in the order of its Markdown."""
AS_PREDICTED = (
    "Have any data been collected for this study already?",
    "What's the main question being asked or hypothesis being tested in this study?",
    "Describe the key dependent variable(s) specifying how they will be measured.",
    "How many and which conditions will participants be assigned to?",
    "Specify exactly which analyses you will conduct to examine the main question/hypothesis.",
    "Describe exactly how outliers will be defined and handled, and your precise rule(s) for excluding "
    "observations.",
    "How many observations will be collected or what will determine sample size?",
    "Anything else you would like to pre-register?",
    "Give a title for this AsPredicted pre-registration.",
)
"""The nine questions of the form of AsPredicted (aspredicted.org), in their order."""


def as_text(plan: Plan) -> str:
    """Write the plan as JSON with sorted keys, the form that is hashed."""
    return json.dumps(plan, ensure_ascii=False, sort_keys=True, indent=1) + "\n"


def hash_of(plan: Plan) -> str:
    """SHA-256 of the plan's file, in hexadecimal digits."""
    return hashlib.sha256(as_text(plan).encode()).hexdigest()


def as_markdown(plan: Plan) -> str:
    """Write the plan for people: every value under its name, and the hash of the JSON file."""
    lines = [
        f"# Plan: {_line(plan['title'])}",
        "",
        f"Fixed at {plan['frozen_at']}, version {plan['version']}.",
    ]
    lines += ["", f"SHA-256 of the plan's JSON file: `{hash_of(plan)}`", ""]
    for key in SECTIONS:
        lines += [f"## {key.replace('_', ' ').capitalize()}", "", *_described(plan[key]), ""]
    return "\n".join(lines)


def _described(value: object, depth: int = 0) -> Iterator[str]:
    indent = "  " * depth
    if isinstance(value, Mapping):
        for key, each in value.items():
            if isinstance(each, Mapping | list) and each:
                yield f"{indent}- {key}:"
                yield from _described(each, depth + 1)
            else:
                yield f"{indent}- {key}: {_line(each)}"
    elif isinstance(value, list):
        for each in value:
            if isinstance(each, Mapping):
                yield f"{indent}- {'; '.join(f'{key}: {_line(part)}' for key, part in each.items())}"
            else:
                yield f"{indent}- {_line(each)}"
    else:
        yield indent + _line(value)


def _line(value: object) -> str:
    if value is None or value == "" or value == []:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " ".join(str(value).split())


def as_predicted(plan: Plan) -> str:
    """Write the plan in the layout of AsPredicted's form, as Markdown; hypotheses are left to add."""
    answers = (
        "No: the plan was fixed before the study opened to participants.",
        _question(plan),
        f"The answers to these question sets: {_asks(plan)}. {_score(plan)}",
        _conditions(plan),
        _analysis(plan),
        _exclusion(plan),
        _size(plan),
        f"The whole plan is the JSON file with the SHA-256 {hash_of(plan)}.",
        _line(plan["title"]),
    )
    parts = [
        f"**{n}) {asked}**\n\n{says}\n"
        for n, (asked, says) in enumerate(zip(AS_PREDICTED, answers, strict=True), 1)
    ]
    return "\n".join(parts)


def _bots(plan: Plan) -> str:
    return ", ".join(_line(bot["title"]) for bot in plan["bots"])


def _asks(plan: Plan) -> str:
    asked = [f"{_line(ask['title'])} ({ask['question_set']}, about {ask['about']})" for ask in plan["asks"]]
    return "; ".join(asked) or "none"


def _score(plan: Plan) -> str:
    rule = plan.get("stopping_rule")
    return f"The main score is {_line(rule['score'] if rule else plan['main_score'])}."


def _question(plan: Plan) -> str:
    if len(plan["bots"]) > 1:
        return f"Do the chatbots {_bots(plan)} differ? {_score(plan)} [Add your hypothesis.]"
    return f"How good is what {_bots(plan) or 'the study'} shows? {_score(plan)} [Add your hypothesis.]"


def _conditions(plan: Plan) -> str:
    conditions = f"{len(plan['bots'])}, the chatbots {_bots(plan)}" if plan["bots"] else "None"
    hidden = "do not learn" if plan["protocol"].get("blind") else "learn"
    return f"{conditions}. Participants {hidden} which chatbot they talk with."


def _analysis(plan: Plan) -> str:
    primary = "all participants" if plan["protocol"]["primary_analysis"] == "all" else "those not excluded"
    found = (
        f"Differences by t tests with standard errors that allow for conversations and for participants with "
        f"several of them, over {primary}, with Holm's correction over all pairs."
    )
    if margin := plan["protocol"].get("margin"):
        found += f" Equivalence within {margin:g} points, by two one-sided tests."
    if plan.get("stopping_rule"):
        found += " With the stopping rule below, the interval that holds at every look counts."
    return found


def _exclusion(plan: Plan) -> str:
    rules = _line(plan["protocol"]["exclusion_rules"] or "No rules are declared.")
    pilot = plan["protocol"].get("pilot_size")
    return rules + (f" The pilot of {pilot} participants is excluded." if pilot else "")


def _size(plan: Plan) -> str:
    each = "; ".join(f"{_line(bot['title'])}: {bot['target']}" for bot in plan["bots"])
    found = f"Conversations with each chatbot: {each}." if each else "As the plan's file says."
    if rule := plan.get("stopping_rule"):
        equivalence = ", and equivalence within it counts as a decision" if rule["equivalence"] else ""
        found += (
            f" The study stops earlier when it is decided: a difference of {rule['difference']:g} points "
            f"matters{equivalence}. Planned are {rule['planned']} conversations with each chatbot, at most "
            f"{rule['largest']}, with no decision before {rule['first_look']}. The interval is a repeated "
            "confidence interval with the limit of O'Brien and Fleming's boundary."
        )
    return found
