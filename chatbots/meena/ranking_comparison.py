"""The ranking functions of sample-and-rank, compared on the same stored candidates."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, get_args

from chatbots.meena.ranking import with_priors
from chatbots.meena.responder import Responder
from chatbots.meena.samples import RankBy, Sample, rank
from evaluation.texts.repetition import words

CANDIDATES = "candidates.jsonl"
"""File of the stored candidates in the folder of a comparison."""
MOST_AT_ONCE = 8


class Ranking(NamedTuple):
    """Results of one ranking function over all contexts.

    Attributes:
        rank_by: the function.
        tokens: mean length of the responses that it ranks first, the end token included.
        different: number of different responses among them.
        agreement: by other function, share of contexts in which both rank the same response first, in [0, 1].
    """

    rank_by: RankBy
    tokens: float
    different: int
    agreement: Mapping[str, float]


def store_candidates(responder: Responder, contexts: Mapping[str, Sequence[str]], output: Path) -> Path:
    """Draw the candidates of every context once, with their scores; an existing file is kept.

    Args:
        responder: with the model and the settings of drawing.
        contexts: turns by id, at least one.
        output: folder of the file.

    Returns:
        The file: one line for each context, with `context` and `candidates`, each of which has `text`,
        `log_likelihood`, `prior` and `tokens`.
    """
    output.mkdir(parents=True, exist_ok=True)
    path = output / CANDIDATES
    if not path.exists():
        unfinished = path.with_suffix(".part")
        with unfinished.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in _drawn(responder, contexts))
        unfinished.replace(path)
    return path


def _drawn(responder: Responder, contexts: Mapping[str, Sequence[str]]) -> Iterator[dict[str, Any]]:
    names = list(contexts)
    for start in range(0, len(names), MOST_AT_ONCE):
        some = names[start : start + MOST_AT_ONCE]
        drawn = responder.samples([contexts[name] for name in some], range(start, start + len(some)))
        for name, samples in zip(some, drawn, strict=True):
            scored = with_priors(responder.model, responder.tokenizer, samples)
            yield {
                "context": name,
                "candidates": [
                    {
                        "text": responder.tokenizer.decode(sample.tokens),
                        "log_likelihood": sample.log_likelihood,
                        "prior": sample.prior,
                        "tokens": list(sample.tokens),
                    }
                    for sample in scored
                ],
            }


def compare(stored: Path) -> list[Ranking]:
    """Rank the same stored candidates by every function.

    Each function gets a file of responses beside the candidates, `per_token.jsonl` and so on, to upload and
    judge. Candidates without text are left out, as in replies.

    Args:
        stored: from `store_candidates`.
    """
    rows = [json.loads(line) for line in stored.read_text("utf-8").splitlines()]
    first: dict[RankBy, list[dict[str, Any]]] = {}
    for rank_by in get_args(RankBy):
        first[rank_by] = [_best(row["candidates"], rank_by) for row in rows]
        lines = [
            {"context": row["context"], "response": best["text"], **_scores(best)}
            for row, best in zip(rows, first[rank_by], strict=True)
        ]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (stored.parent / f"{rank_by}.jsonl").write_text(text, "utf-8")
    return [
        Ranking(
            rank_by,
            tokens=sum(len(best["tokens"]) for best in best_samples) / len(best_samples),
            different=len({best["text"] for best in best_samples}),
            agreement={
                other: sum(a is b for a, b in zip(best_samples, theirs, strict=True)) / len(best_samples)
                for other, theirs in first.items()
                if other != rank_by
            },
        )
        for rank_by, best_samples in first.items()
    ]


def side_by_side(stored: Path, contexts: int) -> Iterator[dict[str, Any]]:
    """Yield the choices of every function in the first contexts, from the stored candidates.

    Args:
        stored: from `store_candidates`.
        contexts: number of contexts, at least 1.

    Yields:
        `context`; `chosen`, by function the `response` and its number of `tokens`; `different`, the number
        of different responses among them; and `shared_words`, by function the share of the words of its
        response that are in the responses of all functions, in [0, 1].
    """
    with stored.open(encoding="utf-8") as lines:
        for line in islice(lines, contexts):
            row = json.loads(line)
            chosen = {rank_by: _best(row["candidates"], rank_by) for rank_by in get_args(RankBy)}
            cut = {rank_by: set(words(each["text"])) for rank_by, each in chosen.items()}
            common = set.intersection(*cut.values())
            yield {
                "context": row["context"],
                "chosen": {
                    rank_by: {"response": each["text"], "tokens": len(each["tokens"])}
                    for rank_by, each in chosen.items()
                },
                "different": len({each["text"] for each in chosen.values()}),
                "shared_words": {
                    rank_by: len(common) / len(own) if own else 0.0 for rank_by, own in cut.items()
                },
            }


def _best(candidates: Sequence[dict[str, Any]], rank_by: RankBy) -> dict[str, Any]:
    allowed = [each for each in candidates if each["text"]] or list(candidates)
    samples = [Sample(tuple(each["tokens"]), each["log_likelihood"], each["prior"]) for each in allowed]
    best = rank(samples, rank_by)[0]
    return next(each for each, sample in zip(allowed, samples, strict=True) if sample is best)


def _scores(candidate: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "log_likelihood": candidate["log_likelihood"],
        "prior": candidate["prior"],
        "tokens": len(candidate["tokens"]),
    }
