"""LaTeX tables of a report for a paper: every ask, every score and both analyses. Pure."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evaluation.files.writing import UNKNOWN, escaped, estimate, number, p, percent, table
from evaluation.protocols.facts import Evaluation
from evaluation.report.label_columns import Analysis, other_result
from evaluation.report.publishing import latex_tables
from evaluation.report.publishing.latex_tables import Made, Result
from evaluation.report.studies.replies import percent_of

Cell = Mapping[str, Any]

_FURTHER_COEFFICIENTS = {"gwet_ac1": "AC1", "icc_2_1": "ICC(2,1)", "fleiss": r"Fleiss' $\kappa$"}


def tables(result: Result) -> dict[str, str]:
    """Make all tables for which the result has data, by name.

    Further asks have their number in the name, as in charts: `scores-1`. The other analysis is marked, too:
    `scores-1-all`.
    """
    if "headline" not in result:
        return {"measures": _measures(result)} if result["bots"] else {}
    by_name = {
        f"{name}{f'-{ask}' if ask else ''}{which}": made
        for ask, figures in enumerate([result, *result.get("beside", ())])
        for name, which, made in _of_both(figures)
    }
    if "course" in result and result["bots"]:
        by_name["course"] = _course(result)
    for nth, figures in enumerate(result.get("people", ()), 1):
        by_name["people" if nth == 1 else f"people-{nth}"] = _people(figures)
    return by_name


def _of_both(result: Result) -> Iterator[tuple[str, str, str]]:
    yield from ((name, "", made) for name, made in _of_one(result))
    if other := other_result(result):
        which = f"-{other['primary'].replace('_', '-')}"
        yield from ((name, which, made) for name, made in _of_one(other))


def _of_one(result: Result) -> Iterator[tuple[str, str]]:
    """Yield the tables of one ask by one analysis, as on the page."""
    if not result["bots"]:
        return
    for name, make in _TABLES.items():
        head, rows, notes, words = make(result)
        if rows:
            whose = "all workers" if result["primary"] == Analysis.ALL else "without the excluded workers"
            title = f" {result['title']}." if "title" in result else ""
            alignment = "l" * words + "r" * (len(head) - words)
            yield name, table(alignment, head, rows, f"Analysis: {whose}.{title} {notes}")


def _titles(result: Result) -> list[str]:
    return [escaped(column["title"]) for column in result["columns"]]


def _scores(result: Result) -> Made:
    counted = (
        ["Contexts", "Items"]
        if result.get("evaluation", Evaluation.INTERACTIVE) != Evaluation.INTERACTIVE
        else ["Conversations", "Replies"]
    )
    rows = [
        [
            escaped(bot["bot"]),
            *map(estimate, bot["cells"]),
            *(str(bot[key]) for key in ("conversations", "turns", "labels", "workers")),
        ]
        for bot in result["bots"]
    ]
    notes = f"Shares in percent, ratings as means; in brackets {result['method']}."
    return [_system(result), *_titles(result), *counted, "Labels", "Workers"], rows, notes, 1


def _system(result: Result) -> str:
    """Title of the first column: a system, or a set if contexts are judged."""
    return "Set of contexts" if result.get("about") == "context" else "System"


def _majority(result: Result) -> Made:
    rows = [[escaped(bot["bot"]), *map(estimate, bot["cells"])] for bot in result.get("majority", ())]
    notes = "Strict majority: an item counts as yes if more than half of its raters say so; in percent."
    return [_system(result), *_titles(result)], rows, notes, 1


def _repetitions(result: Result) -> Made:
    rows = [
        [
            escaped(bot["bot"]),
            str(bot["runs"]),
            *(
                number(cell["value"])
                + ("" if cell["deviation"] is None else rf" ($\pm$ {number(cell['deviation'])})")
                for cell in bot["cells"]
            ),
        ]
        for bot in result.get("repetitions", ())
    ]
    notes = "Mean over repeated runs, and the standard deviation between them."
    return ["System", "Runs", *_titles(result)], rows, notes, 1


def _comparisons(result: Result) -> Made:
    declared = result.get("margin") is not None
    rows = [
        [
            escaped(pair["title"]),
            escaped(pair["first"]),
            escaped(pair["second"]),
            estimate(pair, "difference"),
            _effect_size(pair, "effect"),
            _effect_size(pair, "odds_ratio"),
            estimate(pair["mixed"], "odds_ratio", 2),
            p(pair["p_holm"]),
            number(pair["equal_within"]),
            UNKNOWN if pair["more"] is None else str(pair["more"]),
            *([p(pair.get("p_equivalent"))] if declared else []),
        ]
        for pair in result["comparisons"]
    ]
    notes = (
        f"Differences in points, d in standard deviations between conversations, and odds ratios, with "
        f"{percent(result['level'])} intervals of each pair alone; odds ratios as counted, and by a mixed "
        f"model (logistic; of scales, of a higher answer); p corrected after Holm over the pairs of a score; "
        f"equal within: the smallest margin at which the two systems count as equivalent; more: "
        f"conversations or contexts with each that would tell it."
    )
    head = [
        "Score",
        _system(result),
        "Compared with",
        "Difference",
        "$d$",
        "Odds ratio",
        "Mixed model",
        "$p$",
    ]
    head += ["Equal within", "More needed"]
    if not declared:
        return head, rows, notes, 3
    notes += f" The last p: of a difference of {result['margin']:g} points or more, the declared margin."
    return [*head, "$p$, margin"], rows, notes, 3


def _effect_size(pair: Cell, key: str) -> str:
    """The effect size with its interval; reports of older versions have none."""
    cell = {"value": pair[key]}
    if f"{key}_low" in pair:
        cell |= {"low": pair[f"{key}_low"], "high": pair[f"{key}_high"]}
    return estimate(cell, digits=2)


def _battery(result: Result) -> Made:
    battery = result.get("battery") or {"paired": (), "compared_with": ""}
    rows = [
        [
            escaped(score["title"]),
            escaped(row["target"]),
            estimate(row, "difference", 2),
            p(row.get("p_holm")),
            str(row["raters"]) if "raters" in row else UNKNOWN,
        ]
        for score in battery["paired"]
        for row in score["rows"]
    ]
    notes = (
        f"Each target less {battery['compared_with']}, worker by worker, by the paired t test; p corrected "
        "after Holm over the targets."
    )
    return ["Score", "Target", "Difference", "$p$", "Workers"], rows, notes, 2


def _by_reply(result: Result) -> Made:
    rows = [
        [
            escaped(bot["bot"]),
            str(row["reply"]),
            *map(estimate, row["cells"]),
            str(row["labels"]),
        ]
        for bot in result["by_reply"]
        for row in bot["replies"]
    ]
    notes = "By the number of the reply in its conversation; late replies come from long conversations only."
    return ["System", "Reply", *_titles(result), "Labels"], rows, notes, 1


def _breakdown(result: Result) -> Made:
    rows = [
        [
            escaped(part["by"]),
            escaped(str(row["level"]).replace("_", " ")),
            escaped(row["bot"]),
            *map(estimate, row["cells"]),
            str(row["contexts"]),
            str(row["labels"]),
        ]
        for part in (result.get("breakdown") or {}).get("by", ())
        for row in part["rows"]
    ]
    notes = "Mean of all judgments of these contexts."
    return ["By", "Level", _system(result), *_titles(result), "Contexts", "Judgments"], rows, notes, 3


def _normalised(result: Result) -> Made:
    rows = [
        [escaped(bot["bot"]), *(estimate(cell, digits=2) for cell in bot["cells"])]
        for bot in (result.get("normalised") or {"bots": ()})["bots"]
    ]
    notes = "Each rating less the mean of its rater, over their standard deviation."
    return ["System", *_titles(result)], rows, notes, 1


def _facets(result: Result) -> Made:
    rows = [
        [
            escaped(score["title"]),
            escaped(row["facet"]),
            escaped(row["level"]),
            estimate(row["cell"], digits=2),
            estimate(normalised.get((row["facet"], row["level"]), {}), digits=2),
        ]
        for score in (result.get("facets") or {"scores": ()})["scores"]
        for normalised in [_normalised_means(score)]
        for row in score["means"]
    ]
    notes = "Means of all systems that share a level, and in standard deviations of each rater."
    return ["Score", "Facet", "Level", "Mean", "Normalised"], rows, notes, 3


def _normalised_means(score: Mapping[str, Any]) -> dict[tuple[str, str], Cell]:
    means = (score.get("normalised") or {"means": ()})["means"]
    return {(row["facet"], row["level"]): row["cell"] for row in means}


def _variance(result: Result) -> Made:
    rows = [
        [
            escaped(score["title"]),
            how,
            r" $\times$ ".join(map(escaped, term["name"].split(" × "))),  # noqa: RUF001  # as stored
            str(term["freedom"]),
            *(each for by in ("second", "third") for each in (number(term[by]["f"], 3), p(term[by]["p"]))),
        ]
        for score in (result.get("facets") or {"scores": ()})["scores"]
        for how, cell in (("as rated", score), ("normalised", score.get("normalised") or {"anova": {}}))
        for term in cell["anova"].get("terms", ())
    ]
    notes = "Analysis of variance over conversations by facets of the systems."
    return ["Score", "Ratings", "Facet", "df", "$F$, II", "$p$", "$F$, III", "$p$"], rows, notes, 3


def _agreement(result: Result) -> Made:
    coefficients = result["agreement"]
    further = [key for key in _FURTHER_COEFFICIENTS if any(row.get(key) is not None for row in coefficients)]
    has_cohen = any(row.get("cohen") for row in coefficients)
    rows = [
        [
            escaped(" ".join(filter(None, (row["question"], row.get("choice"))))),
            str(row["replies"]),
            str(row["labels"]),
            number(row.get("percent")),
            estimate(row, "alpha", 2),
            *(number(row.get(key), 2) for key in further),
            *([number((row.get("cohen") or {}).get("value"), 2)] if has_cohen else []),
        ]
        for row in coefficients
    ]
    notes = (
        f"Over what two workers or more labelled; Krippendorff's alpha with its {percent(result['level'])} "
        f"interval; Cohen's kappa is the median of every two workers."
    )
    head = ["Question", "Labelled by several", "Labels", r"Agreement, \%", r"$\alpha$"]
    head += [_FURTHER_COEFFICIENTS[key] for key in further]
    return head + [r"Cohen's $\kappa$"] * has_cohen, rows, notes, 1


_TABLES: Mapping[str, Callable[[Result], Made]] = {
    "scores": _scores,
    "majority": _majority,
    "repetitions": _repetitions,
    "normalised": _normalised,
    "comparisons": _comparisons,
    "preferences": latex_tables.preferences,
    "strengths": latex_tables.strengths,
    "style": latex_tables.style,
    "battery": _battery,
    "facets": _facets,
    "variance": _variance,
    "by-reply": _by_reply,
    "breakdown": _breakdown,
    "agreement": _agreement,
    "rater-models": latex_tables.shares,
    "rater-models-workers": latex_tables.workers,
}


# --- tables that do not depend on the analysis ---------------------------------------------------------


def _measures(result: Result) -> str:
    """Table of metrics of self-play: a row for each metric, a column for each bot."""
    rows = [
        [
            escaped(each["title"]),
            escaped(each["encoder"] or UNKNOWN),
            *(estimate(cell, digits=3) for cell in each["cells"]),
        ]
        for each in result["columns"]
    ]
    head = ["Metric", "Encoder", *(escaped(bot["bot"]) for bot in result["bots"])]
    return table("ll" + "r" * len(result["bots"]), head, rows, f"In brackets {result['method']}.")


_OUTCOMES = ("refused", "filtered", "cut", "fallback")


def _outcome_shares(replies: Mapping[str, Any] | None) -> list[str]:
    """Shares of replies by outcome; unknown for systems without replies here."""
    return [number(percent_of(replies, outcome) if replies else None) for outcome in _OUTCOMES]


def _course(result: Result) -> str:
    rows = [
        [
            escaped(bot["bot"]),
            *(str(bot[key]) for key in ("finished", "under_way", "bot_failed")),
            str(sum(fault["times"] for fault in bot["faults"])),
            *((str(bot["latency"][key]) if bot["latency"] else UNKNOWN) for key in ("median_ms", "p95_ms")),
            estimate(bot["repetition"]),
            *_outcome_shares(bot.get("replies")),
        ]
        for bot in result["course"]["bots"]
    ]
    counts = ["System", "Finished", "Under way", "Failed", "Faults", "Median, ms", r"95\,\%, ms"]
    head = [*counts, r"Repeating, \%", *(rf"{each.title()}, \%" for each in _OUTCOMES)]
    return table("l" + "r" * (len(head) - 1), head, rows, result["course"]["repetition_rule"])


def _people(result: Result) -> str:
    """Table of questionnaires: a row for each choice of each question."""
    rows = [
        [
            escaped(question["question"]),
            escaped(choice["choice"]),
            str(choice["answers"]),
            number(choice.get("share")),
        ]
        for question in result["questions"]
        for choice in question.get("choices", ())
    ]
    notes = f"{result['title']}: {result['answers']} answers of {result['people']} people; shares in percent."
    return table("llrr", ["Question", "Answer", "Answers", r"Share, \%"], rows, notes)
