"""Intervals of a report: the only place that computes printed scores, differences and agreement."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evaluation.files.writing import percent
from evaluation.planning.sample_size import further_needed
from evaluation.questions import QuestionSet, Score, bounds, score_values
from evaluation.rater_agreement.ratings import Metric, Ratings
from evaluation.rater_agreement.reliability import alpha
from evaluation.report.label_columns import Judged
from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.differences import Difference, differences
from evaluation.statistics.effect_sizes import EffectSize
from evaluation.statistics.inference import NOUNS, Estimate, Nouns, Sample, mean, samples
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.statistics.mixed_models.fitting import OddsRatio
from evaluation.statistics.mixed_models.logistic import odds_ratios
from evaluation.statistics.mixed_models.ordinal import cumulative_odds_ratios


@dataclass(frozen=True, slots=True)
class Terms:
    """Settings for uncertainty in a report.

    Attributes:
        level: nominal coverage of every interval, in (0, 1).
        nouns: nouns for conversations and workers in sentences.
        margin: the largest difference of the main score that does not matter, as shown; None: none.
    """

    level: float = LEVEL
    nouns: Nouns = NOUNS
    margin: float | None = None


TERMS = Terms()


def of_bots(judged: Judged, values: FloatArray, *, single_raters: bool = True) -> dict[str, Sample]:
    """Split values of labels into one sample per bot, with their weights; bots without values are left out.

    Args:
        judged: the labels.
        values: (n,) a number for each label; NaN for none.
        single_raters: true if a value is of one rater, false for majorities.
    """
    raters = judged.rater_code if single_raters else None
    by_code = samples(judged.bot_code, values, judged.dialogue, raters, judged.weight)
    return {judged.bots[int(code)]: sample for code, sample in by_code.items()}  # type: ignore[call-overload]


def cells(
    questions: QuestionSet, score: Score, of_systems: Mapping[str, Sample], terms: Terms
) -> dict[str, dict[str, Any]]:
    """Compute a score of each bot with its interval, as stored and shown.

    Args:
        questions: the question set.
        score: the score.
        of_systems: by bot, a sample of shares in [0, 1] or of points.
        terms: level and nouns.

    Returns:
        By bot `value`, and `low`, `high` and `freedom` (degrees of freedom of the error) or `undefined` with
        the reason; shares in percent.
    """
    low, high = bounds(questions, score)
    return {
        bot: _cell(score, mean(sample, low=low, high=high, level=terms.level, nouns=terms.nouns), terms)
        for bot, sample in of_systems.items()
    }


def score_cells(
    questions: QuestionSet, score: Score, judged: Judged, terms: Terms
) -> dict[str, dict[str, Any]]:
    """Compute a score of each bot over all labels, as in `cells`; bots without an answer are left out."""
    return cells(questions, score, of_bots(judged, score_values(questions, score, judged.answers)), terms)


def _cell(score: Score, estimate: Estimate | Undefined, terms: Terms) -> dict[str, Any]:
    if isinstance(estimate, Undefined):
        return {"value": None, "undefined": estimate.reason}
    cell: dict[str, Any] = {"value": score.factor * estimate.value}
    if isinstance(estimate.interval, Undefined):
        return cell | {"undefined": estimate.interval.reason}
    ends = estimate.interval.scaled(score.factor)
    return cell | {
        "low": ends.low,
        "high": ends.high,
        "method": ends.method,
        # Of labels that are all alike, t is not used.
        "freedom": estimate.freedom or max(1, estimate.numbers.independent - 1),
        "rests_on": estimate.describe_interval(terms.nouns),
    }


def compared(questions: QuestionSet, score: Score, judged: Judged, terms: Terms) -> list[dict[str, Any]]:
    """Compare every two bots by one score, with Holm's correction over these pairs.

    Args:
        questions: the question set.
        score: the score.
        judged: the labels.
        terms: level and nouns.

    Returns:
        The comparisons as stored, the widest difference first; shares and their differences in percent.
    """
    low, high = bounds(questions, score)
    of_systems = of_bots(judged, score_values(questions, score, judged.answers))
    pairs = differences(of_systems, low=low, high=high, level=terms.level, nouns=terms.nouns)  # type: ignore[arg-type]
    # Of a scale whose points are answers; a mean of several answers has no points to be above.
    is_scale = not score.is_percent and len(score.terms) == 1
    ratios_of = cumulative_odds_ratios if is_scale else odds_ratios
    ratios = ratios_of(of_systems, pairs, level=terms.level)  # type: ignore[arg-type]
    stored = [
        {
            "score": score.key,
            "title": score.title,
            **_stored(each, score, terms),
            **(equivalence(each, score.factor, terms) if score == questions.main_score else {}),
            "mixed": _mixed(ratio),
        }
        for each, ratio in zip(pairs, ratios, strict=True)
    ]
    return sorted(stored, key=lambda each: -abs(each["difference"]))


def _stored(difference: Difference, score: Score, terms: Terms) -> dict[str, Any]:
    more, within = further_needed(difference), difference.equal_within
    stored: dict[str, Any] = {
        "first": difference.first,
        "second": difference.second,
        "words": difference.sentence(terms.nouns),
        "rests_on": difference.describe_basis(terms.nouns),
        "difference": score.factor * difference.difference,
        "p": None if isinstance(difference.p, Undefined) else difference.p,
        "p_holm": None if isinstance(difference.p_holm, Undefined) else difference.p_holm,
        **_effect_size("odds_ratio", difference.odds_ratio),
        **_effect_size("effect", difference.effect),
        "equal_within": None if isinstance(within, Undefined) else score.factor * within,
        "more": None if isinstance(more, Undefined) else more,
    }
    if not isinstance(difference.interval, Undefined):
        ends = difference.interval.scaled(score.factor)
        stored |= {"low": ends.low, "high": ends.high, "method": ends.method}
    return stored


def _effect_size(key: str, size: EffectSize | Undefined) -> dict[str, Any]:
    """Value under `key`, None if undefined, and the ends of its interval under `key_low`, `key_high`."""
    if isinstance(size, Undefined):
        return {key: None}
    if isinstance(size.interval, Undefined):
        return {key: size.value}
    return {key: size.value, f"{key}_low": size.interval.low, f"{key}_high": size.interval.high}


def equivalence(difference: Difference, factor: float, terms: Terms) -> dict[str, Any]:
    """Test the equivalence of two systems within the declared margin; empty without a margin.

    Args:
        difference: the difference of the two systems.
        factor: factor from a difference to its shown value.
        terms: settings with the margin.

    Returns:
        `margin`, `p_equivalent` of two one-sided tests (None if undefined), and `equivalent`: true if it is
        below 1 - level.
    """
    if terms.margin is None:
        return {}
    p = difference.equivalence(terms.margin / factor)
    if isinstance(p, Undefined):
        return {"margin": terms.margin, "p_equivalent": None, "equivalent": False}
    return {"margin": terms.margin, "p_equivalent": p, "equivalent": p < 1 - terms.level}


def _mixed(ratio: OddsRatio | Undefined) -> dict[str, Any]:
    """Odds ratio of the mixed model, to the four digits to which the maximum is found."""
    if isinstance(ratio, Undefined):
        return {"undefined": ratio.reason}
    values = {"odds_ratio": ratio.ratio, "low": ratio.interval.low, "high": ratio.interval.high, "p": ratio.p}
    return {name: float(f"{value:.4g}") for name, value in values.items()}


def alpha_cell(ratings: Ratings, metric: Metric, clusters: IntArray, terms: Terms) -> dict[str, Any]:
    """Compute Krippendorff's alpha with its interval, as stored and shown.

    Args:
        ratings: ratings of units with two ratings or more.
        metric: distance of two ratings.
        clusters: (units,) the conversation or context of each unit.
        terms: level of the interval, and nouns.
    """
    result = alpha(ratings, metric, clusters=clusters, level=terms.level)
    if isinstance(result, Undefined):
        return {"undefined": result.reason}
    if isinstance(result.interval, Undefined):
        return {"alpha": result.value, "no_interval": result.interval.reason}
    ends = {"low": result.interval.low, "high": result.interval.high, "method": result.interval.method}
    return {"alpha": result.value, "rests_on": result.describe_interval(terms.nouns), **ends}


def method(terms: Terms) -> str:
    """State in a sentence how the intervals were computed."""
    return (
        f"{percent(terms.level)} intervals: Student's t, of scores on the logit of their scale and of alpha "
        f"on Fisher's z, with the variance over whatever the labels cross ({terms.nouns.cluster}s, "
        f"{terms.nouns.rater}s, or both)"
    )
