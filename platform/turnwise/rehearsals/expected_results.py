"""What a report must come out as, where the chance of every single answer is known. Pure."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from evaluation.questions import (
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
from turnwise.rehearsals.scenarios import Share, State, ways

Chances = Mapping[str, tuple[tuple[Answer | None, float], ...]]
"""For each question, every answer that may be stored with its chance; None: no answer."""


@cache
def stored(questions: QuestionSet, state: State) -> dict[str, tuple[tuple[Answer | None, float], ...]]:
    """How likely a worker who answers so is to leave each answer, whether they are asked or not."""
    found: dict[str, tuple[tuple[Answer | None, float], ...]] = {}
    for question, share in zip(questions.questions, state, strict=True):
        asked = _chance_asked(question, found)
        answers = tuple((way, asked * chance) for way, chance in zip(ways(question), share, strict=True))
        found[question.key] = answers if asked == 1 else (*answers, (question.otherwise, 1 - asked))
    return found


def _chance_asked(question: Question, earlier: Chances) -> float:
    condition = question.asked_if
    if condition is None:
        return 1.0
    answers = earlier[condition.question]
    return sum(
        chance for way, chance in answers if way is not None and condition.holds({condition.question: way})
    )


def means(
    plan: Plan, system: str, kinds: Sequence[injected_effects.Kind] = tuple(injected_effects.Kind)
) -> dict[str, float]:
    """By score, its planted mean as shown over the labels of these workers; without those of no label."""
    units = plan.units(kinds, system)
    found = {score.key: _mean(plan.questions, score, units) for score in plan.questions.scores}
    return _known(plan.questions, found)


def _mean(questions: QuestionSet, score: Score, units: Sequence[Sequence[State]]) -> float | Undefined:
    """The mean of all expectations, of those who answer; a score of several terms needs all of them."""
    if not all(_is_sure(questions, term) for term in score.terms):
        if len(score.terms) > 1:
            return Undefined("Not everybody answers all of it.")
        return _mean_of_answered(questions, score.terms[0], units)
    expected = [[_of_score(questions, score, state) for state in unit] for unit in units]
    return expected_share(expected)


def _is_sure(questions: QuestionSet, term: Term) -> bool:
    """Whether every label has an answer to the question of this term."""
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
    """Expected value of a term where there is no answer counting 0, and the chance of an answer."""
    answers = [(way, chance) for way, chance in stored(questions, state)[term.question] if way is not None]
    return sum(_value(term, way) * chance for way, chance in answers), sum(chance for _, chance in answers)


def _value(term: Term, answer: Answer) -> float:
    if term.choice is None:
        return float(answer)  # type: ignore[arg-type]  # the declaration checks that it is a number
    given = answer if isinstance(answer, list) else [answer]
    return float(any(is_same(each, term.choice) for each in given))


def outcomes(plan: Plan, system: str, question: str) -> tuple[float, float, float]:
    """Of a pair of systems, how many labels were to be for the first, for the second, and for neither."""
    states = [state for unit in plan.units(system=system) for state in unit]
    terms = [Term(question, side) for side in (FIRST, SECOND, TIED)]
    first, second, tied = (
        sum(_of_term(plan.questions, term, state)[0] for state in states) for term in terms
    )
    return first, second, tied


def majorities(plan: Plan, system: str) -> dict[str, float]:
    """By score, the planted share of things, as shown, of which most raters say so."""
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


def alphas(plan: Plan) -> dict[tuple[str, str], float | Undefined]:
    """By question and, of several choices, its caption: the alpha that the answers of all were to have."""
    units = plan.units()
    return _alphas(plan.questions, units)


def foreseen(
    plan: Plan, shares: Mapping[injected_effects.Kind, float], raters: int
) -> dict[tuple[str, str], float | Undefined]:
    """The same, if all things had so many raters of all kinds in these shares."""
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
            sum(chance for way, chance in stored(questions, state)[question.key] if is_same(way, value))
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
