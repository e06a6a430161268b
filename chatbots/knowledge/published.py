"""The paper's figures of its models, to be shown beside others: never as ours."""

PUBLISHED_NOTE = (
    "Gopalakrishnan et al. 2019, tables 3 and 5, test frequent / test rare: other data (facts and articles, "
    "all conversations), other vocabularies, knowledge chosen by looking at the answer. Distinct n-grams are "
    "per response."
)
COLUMNS = ("perplexity", "f1", "distinct_1", "distinct_2")


def _figures(row: str) -> dict[str, list[float]]:
    return dict(
        zip(COLUMNS, ([float(each) for each in cell.split("/")] for cell in row.split()), strict=True)
    )


TABLE_3 = {
    "TF": _figures("29.8/40.4 .16/.16 .85/.84 .86/.86"),
    "TF w/ p.t.": _figures("26.3/36.3 .16/.15 .86/.85 .86/.85"),
    "TF w/ k.": _figures("33.8/43.6 .22/.20 .84/.80 .83/.81"),
    "TF w/ k. p.t.": _figures("34.1/44.8 .22/.19 .85/.82 .84/.82"),
}
"""Of test frequent and test rare."""

TABLE_5 = {
    16: _figures("34.2 .19 .68 .70"),
    32: _figures("33.8 .22 .84 .83"),
    64: _figures("42.5 .21 .81 .81"),
    128: _figures("38.3 .21 .80 .80"),
    512: _figures("42.7 .19 .82 .81"),
}
"""By W_H, words of history that are read."""
