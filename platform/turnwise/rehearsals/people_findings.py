"""Whether a report says what simulated workers said of themselves. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evaluation.questions import Kind, Question, is_same
from turnwise.rehearsals.findings import Finding
from turnwise.rehearsals.injected_effects import Answers, Plan
from turnwise.rehearsals.scenarios import rates, ways
from turnwise.rehearsals.simulated_worker import EVERYBODY, People

FAR = 3.3
"""So many standard errors from a planted share only one report of a thousand would be by chance."""


def findings_about(people: People, result: Mapping[str, Any]) -> list[Finding]:
    """What they said, compared with the report."""
    found: list[Finding] = []
    for told in result.get("people", ()):
        plan = people.plans[told["question_set"]]
        given = plan.labels(EVERYBODY)
        found.append(_counts(plan, told, given, people.left_out[told["question_set"]]))
        if given:
            found += _shares(plan, told)
    return found


def _counts(plan: Plan, told: Mapping[str, Any], given: Sequence[Answers], left_out: int) -> Finding:
    """Nothing is lost and nothing is made up, so these are equal, not near."""
    alike = all(
        _counted(question, given) == [choice["answers"] for choice in figures.get("choices", ())]
        for question, figures in zip(plan.questions.questions, told["questions"], strict=True)
    )
    how = (
        "each answer as often as the report says" if alike else "NOT each answer as often as the report says"
    )
    return Finding(
        alike and (told["answers"], told["left_out"]) == (len(given), left_out),
        f"{told['title']}: the report counts {told['answers']} answers, and {told['left_out']} who left them "
        f"out; the workers gave {len(given)}, {how}, and {left_out} left them out.",
    )


def _counted(question: Question, given: Sequence[Answers]) -> list[int]:
    """How often each choice was given; nothing of free text."""
    if question.kind is Kind.TEXT:
        return []
    answers = [each[question.key] for each in given if question.key in each]
    chosen = [each for answer in answers for each in (answer if isinstance(answer, list) else [answer])]
    return [sum(is_same(choice.value, each) for each in chosen) for choice in question.choices]


def _shares(plan: Plan, told: Mapping[str, Any]) -> Iterator[Finding]:
    """Of each question that everybody is asked, the choice whose share is farthest from what was planted."""
    planted = rates(plan.questions, plan.systems.index(EVERYBODY))
    for question, share, figures in zip(plan.questions.questions, planted, told["questions"], strict=True):
        if question.asked_if or not question.required or question.kind is Kind.TEXT:
            continue
        number = figures["answers"]
        gaps = []
        for choice, of_choice in zip(question.choices, figures["choices"], strict=True):
            wanted = sum(
                chance
                for way, chance in zip(ways(question), share, strict=True)
                if any(is_same(choice.value, each) for each in (way if isinstance(way, list) else [way]))
            )
            error = math.sqrt(wanted * (1 - wanted) / number)
            gaps.append(
                (abs(of_choice["share"] / 100 - wanted) - FAR * error, choice.label, wanted, of_choice)
            )
        over, label, wanted, of_choice = max(gaps, key=lambda gap: gap[0])
        yield Finding(
            over <= 0,
            f"“{label}” to “{figures['question']}”: planted {100 * wanted:.1f}\u00a0%, "
            f"reported {of_choice['share']:.1f}\u00a0%.",
        )
