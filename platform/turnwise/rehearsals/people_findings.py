"""Compares a report's questionnaire tables with the simulated workers' answers about themselves. Pure."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evaluation.questions import Kind, Question, is_same
from turnwise.rehearsals.findings import Finding
from turnwise.rehearsals.injected_effects import Answers, Plan
from turnwise.rehearsals.scenarios import answer_rates, possible_answers
from turnwise.rehearsals.simulated_worker import EVERYBODY, SelfReports

FAR = 3.3
"""Standard errors from the injected share that one correct report in a thousand exceeds by chance."""


def findings_about(people: SelfReports, result: Mapping[str, Any]) -> list[Finding]:
    """Compare the workers' answers about themselves with the report."""
    found: list[Finding] = []
    for table in result.get("people", ()):
        plan = people.plans[table["question_set"]]
        answers = plan.labels(EVERYBODY)
        found.append(_counts(plan, table, answers, people.left_out[table["question_set"]]))
        if answers:
            found += _shares(plan, table)
    return found


def _counts(plan: Plan, table: Mapping[str, Any], labels: Sequence[Answers], left_out: int) -> Finding:
    """Compare counts, which must be equal: no answer is lost or invented."""
    alike = all(
        _counted(question, labels) == [choice["answers"] for choice in figures.get("choices", ())]
        for question, figures in zip(plan.questions.questions, table["questions"], strict=True)
    )
    how = (
        "each answer as often as the report says" if alike else "NOT each answer as often as the report says"
    )
    return Finding(
        alike and (table["answers"], table["left_out"]) == (len(labels), left_out),
        f"{table['title']}: the report counts {table['answers']} answers, and {table['left_out']} who "
        f"left them out; the workers gave {len(labels)}, {how}, and {left_out} left them out.",
    )


def _counted(question: Question, labels: Sequence[Answers]) -> list[int]:
    """Number of answers with each choice; empty for free text."""
    if question.kind is Kind.TEXT:
        return []
    answers = [each[question.key] for each in labels if question.key in each]
    chosen = [each for answer in answers for each in (answer if isinstance(answer, list) else [answer])]
    return [sum(is_same(choice.value, each) for each in chosen) for choice in question.choices]


def _shares(plan: Plan, table: Mapping[str, Any]) -> Iterator[Finding]:
    """For each required question, check the choice whose share is farthest from the injected one."""
    planted = answer_rates(plan.questions, plan.systems.index(EVERYBODY))
    for question, share, figures in zip(plan.questions.questions, planted, table["questions"], strict=True):
        if question.asked_if or not question.required or question.kind is Kind.TEXT:
            continue
        number = figures["answers"]
        gaps = []
        for choice, of_choice in zip(question.choices, figures["choices"], strict=True):
            wanted = sum(
                chance
                for answer, chance in zip(possible_answers(question), share, strict=True)
                if any(
                    is_same(choice.value, each) for each in (answer if isinstance(answer, list) else [answer])
                )
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
