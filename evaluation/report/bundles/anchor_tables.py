"""Tables of a bundle about anchors: their known values, and the judgments of them."""

from collections.abc import Sequence

from evaluation.questions import QuestionSet
from evaluation.report.bundles.columns import ITEM, LABEL, Column, Kind, Table, answers_to

ANCHORS = Table(
    "anchors",
    "One row per anchor in the queue, and ask: an item whose value an earlier study knows. Workers judged it "
    "like any other; it is in no other table and counts in no score.",
    (
        ITEM,
        Column("ask", Kind.INTEGER, "number of the ask, as in study.json"),
        Column("pack", Kind.TEXT, "name of the anchor pack"),
        Column("pack_version", Kind.INTEGER, "number of its version, from 1"),
        Column("pack_sha256", Kind.TEXT, "SHA-256 of its question set, texts and known values"),
        Column("pack_origin", Kind.TEXT, "where its values are from, in words"),
        Column("pack_made_at", Kind.TIME, "when it was made, UTC"),
        Column("pack_anchors", Kind.INTEGER, "number of its anchors"),
        Column("number", Kind.INTEGER, "number of the anchor in its pack, from 1"),
        Column("system", Kind.TEXT, "name of its system in the earlier study"),
        Column("language", Kind.TEXT, "code of the language"),
        Column("said_before", Kind.TEXT, "what was said before, oldest first, as a JSON list of texts"),
        Column(
            "text",
            Kind.TEXT,
            "what is judged; empty for a whole conversation or a context, which is in `said_before`",
        ),
        Column(
            "known",
            Kind.TEXT,
            "by score, a JSON object with `value`, `error` (its standard error) and `raters` (their number); "
            "shares from 0 to 1, or points",
        ),
        Column(
            "common_variance",
            Kind.TEXT,
            "by score, as a JSON object: variance of the mean of the pack's values that its raters have in "
            "common",
        ),
    ),
)


def anchor_judgments_table(sets: Sequence[QuestionSet]) -> Table:
    """The table of judgments of anchors, with a column for each question of these sets."""
    return Table(
        "anchor_judgments",
        "One row per judgment of an anchor: a worker's answers, in the order of their first answers.",
        (ITEM, *LABEL, *answers_to(sets)),
    )
