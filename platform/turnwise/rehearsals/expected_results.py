"""Expected figures of a report, computed from the known chance of every answer. Pure."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from evaluation.questions import (
    BOTH_BAD,
    FIRST,
    SECOND,
    TIED,
    Answer,
    Combine,
    Kind,
    Question,
    QuestionSet,
    Score,
    Term,
    is_same,
)
from evaluation.rater_agreement.coefficients import metric_of
from evaluation.rater_agreement.expected_values import (
    expected_alpha_of_answers,
    expected_majority,
    expected_share,
)
from evaluation.statistics.interval import Undefined
from turnwise.rehearsals import injected_effects
from turnwise.rehearsals.injected_effects import Plan
from turnwise.rehearsals.simulated_answers import Share, State, possible_answers

Chances = Mapping[str, tuple[tuple[Answer | None, float], ...]]
"""For each question, every storable answer with its chance; None stands for no answer."""


@cache
def stored_answer_chances(
    questions: QuestionSet, state: State
) -> dict[str, tuple[tuple[Answer | None, float], ...]]:
    """Chance of each stored answer for a worker with this state, including conditional questions."""
    found: dict[str, tuple[tuple[Answer | None, float], ...]] = {}
    for question, share in zip(questions.questions, state, strict=True):
        reached = _question_chance(question, found)
        answers = tuple(
            (answer, reached * chance)
            for answer, chance in zip(possible_answers(question), share, strict=True)
        )
        found[question.key] = answers if reached == 1 else (*answers, (question.otherwise, 1 - reached))
    return found


def _question_chance(question: Question, earlier: Chances) -> float:
    condition = question.asked_if
    if condition is None:
        return 1.0
    answers = earlier[condition.question]
    return sum(
        chance
        for answer, chance in answers
        if answer is not None and condition.holds({condition.question: answer})
    )


def expected_means(
    plan: Plan, system: str, kinds: Sequence[injected_effects.Kind] = tuple(injected_effects.Kind)
) -> dict[str, float]:
    """Injected mean of each score over the labels of these kinds of workers, if there are any."""
    units = plan.units(kinds, system)
    found = {score.key: _mean(plan.questions, score, units) for score in plan.questions.scores}
    return _known(plan.questions, found)


def _mean(questions: QuestionSet, score: Score, units: Sequence[Sequence[State]]) -> float | Undefined:
    """Expected mean over the workers who answer; a score with several terms needs answers to all."""
    if not all(_is_sure(questions, term) for term in score.terms):
        if len(score.terms) > 1:
            return Undefined("Not everybody answers all of it.")
        return _mean_of_answered(questions, score.terms[0], units)
    expected = [[_of_score(questions, score, state) for state in unit] for unit in units]
    return expected_share(expected)


def _is_sure(questions: QuestionSet, term: Term) -> bool:
    """True if every label has an answer to this term's question."""
    question = questions.question(term.question)
    return question.required and (question.asked_if is None or question.otherwise is not None)


def _of_score(questions: QuestionSet, score: Score, state: State) -> float:
    total = sum(_of_term(questions, term, state)[0] for term in score.terms)
    return total / len(score.terms) if score.combine is Combine.MEAN else total


def _mean_of_answered(
    questions: QuestionSet, term: Term, units: Sequence[Sequence[State]]
) -> float | Undefined:
    found = [_of_term(questions, term, state) for unit in units for state in unit]
    answered = sum(chance for _, chance in found)
    return sum(value for value, _ in found) / answered if answered else Undefined("Nobody answered.")


def _of_term(questions: QuestionSet, term: Term, state: State) -> tuple[float, float]:
    """Expected value of a term (a missing answer counts 0), and the chance of an answer."""
    answers = [
        (answer, chance)
        for answer, chance in stored_answer_chances(questions, state)[term.question]
        if answer is not None
    ]
    return sum(_value(term, answer) * chance for answer, chance in answers), sum(
        chance for _, chance in answers
    )


def _value(term: Term, answer: Answer) -> float:
    if term.choice is None:
        return float(answer)  # type: ignore[arg-type]  # the declaration checks that it is a number
    choices = answer if isinstance(answer, list) else [answer]
    return float(any(is_same(each, term.choice) for each in choices))


def expected_scores(plan: Plan, thing: str) -> dict[str, float]:
    """Injected mean of each score over the recorded labels of one thing, as shown.

    Scores that need an answer which a worker may leave out are not in it.
    """
    state = plan.things[thing][1]
    kinds = [kind for kind, _ in plan.recorded[thing]]
    found: dict[str, float | Undefined] = {
        score.key: sum(_of_score(plan.questions, score, plan.answer_chances(state, kind)) for kind in kinds)
        / len(kinds)
        for score in plan.questions.scores
        if all(_is_sure(plan.questions, term) for term in score.terms)
    }
    return _known(plan.questions, found)


def expected_outcomes(plan: Plan, system: str, question: str) -> tuple[float, float, float]:
    """Expected numbers of labels for the first system of a pair, for the second, and for a tie.

    That both are bad counts as a tie.
    """
    states = [state for unit in plan.units(system=system) for state in unit]
    terms = [Term(question, side) for side in (FIRST, SECOND, TIED, BOTH_BAD)]
    first, second, tied, both_bad = (
        sum(_of_term(plan.questions, term, state)[0] for state in states) for term in terms
    )
    return first, second, tied + both_bad


def expected_majorities(plan: Plan, system: str) -> dict[str, float]:
    """Injected share of items with a majority for each score, as shown in the report."""
    found: dict[str, float | Undefined] = {}
    for score in plan.questions.scores:
        if score.is_percent and all(_is_sure(plan.questions, term) for term in score.terms):
            of_terms = [_majority(plan, term, system) for term in score.terms]
            known = [share for share in of_terms if not isinstance(share, Undefined)]
            total = sum(known) / (len(of_terms) if score.combine is Combine.MEAN else 1)
            found[score.key] = total if len(known) == len(of_terms) else Undefined("Nobody voted.")
    return _known(plan.questions, found)


def _majority(plan: Plan, term: Term, system: str) -> float | Undefined:
    units = plan.units(system=system)
    return expected_majority([[_of_term(plan.questions, term, state)[0] for state in unit] for unit in units])


def _known(questions: QuestionSet, found: Mapping[str, float | Undefined]) -> dict[str, float]:
    return {
        key: questions.score(key).factor * value
        for key, value in found.items()
        if not isinstance(value, Undefined)
    }


def expected_alphas(plan: Plan) -> dict[tuple[str, str], float | Undefined]:
    """Expected alpha of all answers, by question key and, for several choices, the choice's label."""
    units = plan.units()
    return _alphas(plan.questions, units)


def forecast_alphas(
    plan: Plan, shares: Mapping[injected_effects.Kind, float], raters: int
) -> dict[tuple[str, str], float | Undefined]:
    """Expected alphas if every item had this many raters, with kinds in these shares."""
    return _alphas(plan.questions, [[state] * raters for state in plan.mixed(shares)])


def _alphas(
    questions: QuestionSet, units: Sequence[Sequence[State]]
) -> dict[tuple[str, str], float | Undefined]:
    found: dict[tuple[str, str], float | Undefined] = {}
    for question in questions.questions:
        if question.kind is Kind.TEXT or not _is_sure(questions, Term(question.key)):
            continue
        if question.kind is Kind.SEVERAL:
            for choice in question.choices:
                term = Term(question.key, choice.value)
                found[question.key, choice.label] = _alpha_of_choice(questions, term, units)
        else:
            found[question.key, ""] = _alpha(questions, question, units)
    return found


def _alpha_of_choice(
    questions: QuestionSet, term: Term, units: Sequence[Sequence[State]]
) -> float | Undefined:
    def votes(state: State) -> Share:
        yes = _of_term(questions, term, state)[0]
        return yes, 1 - yes

    return expected_alpha_of_answers(_each(units, votes))


def _alpha(questions: QuestionSet, question: Question, units: Sequence[Sequence[State]]) -> float | Undefined:
    values = [choice.value for choice in question.choices]

    def answers(state: State) -> Share:
        return tuple(
            sum(
                chance
                for answer, chance in stored_answer_chances(questions, state)[question.key]
                if is_same(answer, value)
            )
            for value in values
        )

    if question.level is None:
        return Undefined("Free text has no agreement.")
    numbers = [float(value) for value in values] if question.has_mean else None
    return expected_alpha_of_answers(_each(units, answers), metric_of(question.level), numbers)


def _each(units: Sequence[Sequence[State]], of: Callable[[State], Share]) -> list[list[Share]]:
    known: dict[State, Share] = {}
    for unit in units:
        for state in unit:
            if state not in known:
                known[state] = of(state)
    return [[known[state] for state in unit] for unit in units]
