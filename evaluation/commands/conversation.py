"""Commands `conversation`, `hybrid` and `targets` of `python -m evaluation`: metrics of conversations."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.commands.conversation_files import Recorded, read_conversations, read_corpus
from evaluation.conversation.encoders import EncoderError, Encoders, encoders
from evaluation.conversation.exchanges import Conversation, Exchanges
from evaluation.conversation.figures import (
    BY_TURN,
    best_and_worst,
    exchanges_of,
    interval_json,
    metric_cell,
    metric_descriptions,
    of_speakers,
    trajectory,
    warnings,
)
from evaluation.conversation.hybrid import (
    LEVEL,
    BotEstimate,
    Hybrid,
    HybridError,
    Talks,
    correlations,
    hybrid,
)
from evaluation.conversation.metrics import Measures, Variant, measured
from evaluation.conversation.ngrams import KNOWN, SHARED, known, overlap
from evaluation.conversation.targets import compute_targets, read_texts
from evaluation.files.reading import FileError
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import BoolArray, FloatArray
from evaluation.statistics.linear_models.regression import Correlation

NOT_FOR_TRAINING = (
    "Not to be optimised against: a bot trained to score high would exploit the metrics instead of becoming "
    "better (Ghandeharioun et al. 2019, section 5.4)."
)
SEED = 0


def add_parsers(commands: Any) -> None:
    """Add the three commands."""
    measuring = (_add_conversation(commands), _add_hybrid(commands))
    for command in measuring:
        command.add_argument("--variant", choices=[each.value for each in Variant], default="corrected")
        command.add_argument(
            "--level", type=_level, default=LEVEL, help=f"of the intervals; default: {LEVEL}"
        )
    for command in (*measuring, _add_targets(commands)):
        for name, what in (("emotions", "DeepMoji"), ("sentences", "InferSent"), ("vectors", "word2vec")):
            command.add_argument(f"--{name}", type=Path, metavar="FOLDER", help=f"with {what}")


def _add_conversation(commands: Any) -> argparse.ArgumentParser:
    about = "Automatic metrics of conversations by bot, with intervals, by turn, and how alike they are."
    command: argparse.ArgumentParser = commands.add_parser("conversation", help=about, description=about)
    read = "JSON Lines, a bundle (.zip), or records of neural.chat (.csv)"
    command.add_argument("file", type=Path, metavar="FILE", help=read)
    learnt = "JSON Lines of what the bots learnt from, to look for its turns"
    command.add_argument("--corpus", type=Path, help=learnt)
    command.set_defaults(run=conversation)
    return command


def _add_hybrid(commands: Any) -> argparse.ArgumentParser:
    about = "What self-play predicts of people's ratings, each bot by a line fitted without it."
    description = f"{about} {NOT_FOR_TRAINING}"
    command: argparse.ArgumentParser = commands.add_parser("hybrid", help=about, description=description)
    rated = "conversations with people and ratings, or their study's bundle"
    command.add_argument("file", type=Path, metavar="RATINGS", help=rated)
    played = "the same bots with themselves, or their study's bundle"
    command.add_argument("self_play", type=Path, nargs="+", metavar="SELF_PLAY", help=played)
    command.add_argument("--scale", default="quality", help="the rating to predict; default: quality")
    command.set_defaults(run=hybrid_metric)
    return command


def _add_targets(commands: Any) -> argparse.ArgumentParser:
    about = "What EI models learn of each utterance: emotions and sentence vectors, as a file."
    command: argparse.ArgumentParser = commands.add_parser("targets", help=about, description=about)
    read = "JSON Lines of conversations, perhaps .gz"
    command.add_argument("files", type=Path, nargs="+", metavar="FILE", help=read)
    command.add_argument("--output", type=Path, required=True, metavar="TARGETS.npz")
    command.add_argument(
        "--semantics",
        choices=("sentences", "words"),
        default="sentences",
        help="of an encoder of sentences, or the mean of the words' vectors, which is fast",
    )
    command.set_defaults(run=targets)
    return command


def _level(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = 0.0
    if not 0 < level < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a level between 0 and 1, such as 0.9.")
    return level


def _encoders(options: argparse.Namespace) -> Encoders:
    try:
        return encoders(options.emotions, options.sentences, options.vectors)
    except EncoderError as error:
        raise FileError(str(error)) from None


def _measured(exchanges: Exchanges, encoders: Encoders, options: argparse.Namespace) -> Measures:
    try:
        return measured(exchanges, encoders, Variant(options.variant))
    except EncoderError as error:
        raise FileError(str(error)) from None


# --- targets -------------------------------------------------------------------------------------------


def targets(options: argparse.Namespace) -> dict[str, Any]:
    """Compute emotions and sentence vectors of every text of some files, and write them to a file."""
    encoders = _encoders(options)
    try:
        learnt = compute_targets(read_texts(options.files), encoders, by_words=options.semantics == "words")
        options.output.write_bytes(learnt.to_npz())
    except (EncoderError, OSError, EOFError) as error:
        raise FileError(str(error)) from None
    sizes = {"emotions": learnt.emotions.shape[1], "semantics": learnt.semantics.shape[1]}
    return {"texts": len(learnt.keys), "sizes": sizes, "encoders": learnt.about}


# --- conversation --------------------------------------------------------------------------------------


def conversation(options: argparse.Namespace) -> dict[str, Any]:
    """Compute every metric of every bot of a file, and the similarity of its conversations."""
    recorded = read_conversations(options.file)
    encoders = _encoders(options)
    corpus = list(read_corpus(options.corpus)) if options.corpus else None
    bots: dict[str, Any] = {}
    warned: list[str] = []
    metrics: list[dict[str, Any]] = []
    for (name, self_play), talks in _by_bot(options.file, recorded).items():
        exchanges = exchanges_of(name, [each.turns for each in talks], self_play=self_play)
        measures = _measured(exchanges, encoders, options)
        metrics = metric_descriptions(measures.encoders)
        texts = [[text for _, text in each.turns] for each in talks]
        warned += warnings(name, [each.turns for each in talks])
        bots[f"{name} (self-play)" if self_play else name] = {
            "conversations": len(talks),
            "exchanges": len(exchanges),
            "metrics": _cells(exchanges, measures, name, options.level),
            "pairs_with_equal_turns": {length: _overlap(texts, length) for length in SHARED},
            **({} if corpus is None else {"in_corpus": {n: _known(texts, corpus, n) for n in KNOWN}}),
            "by_turn": _by_turn(exchanges, measures, talks, options.level),
        }
    return {
        "variant": options.variant,
        "level": options.level,
        "metrics": metrics,
        "missing": {title: why.reason for title, why in encoders.missing.items()},
        "warnings": warned,
        "bots": bots,
    }


def _by_bot(path: Path, recorded: Sequence[Recorded]) -> dict[tuple[str, bool], list[Recorded]]:
    """Group conversations by bot, separately with people and in self-play."""
    groups: dict[tuple[str, bool], list[Recorded]] = {}
    for each in recorded:
        speakers = {speaker for speaker, _ in each.turns}
        if each.turns and not speakers & set(each.bots):
            raise FileError(
                f"{path}, line {each.line}: none of its turns is by {', '.join(each.bots)}; they are by "
                f"{', '.join(sorted(speakers))}. Give the bot's turns its name."
            )
        for bot in dict.fromkeys(each.bots):
            groups.setdefault((bot, each.is_self_play), []).append(each)
    return groups


def _cells(exchanges: Exchanges, measures: Measures, bot: str, level: float) -> dict[str, Any]:
    rows = of_speakers(exchanges, measures)
    is_of_bot = np.array([name == bot for name in exchanges.speakers], dtype=bool)
    mine = is_of_bot[rows.speaker] if len(rows.speaker) else np.zeros(0, dtype=bool)
    return {
        metric.key: metric_cell(metric.key, rows.values[mine, column], rows.conversation[mine], level)
        for column, metric in enumerate(measures.metrics)
    }


def _overlap(texts: Sequence[Sequence[str]], length: int) -> dict[str, Any]:
    result = overlap(texts, length)
    return {"sharing": result.sharing, "pairs": result.pairs, "percent": result.percent}


def _known(texts: Sequence[Sequence[str]], corpus: Sequence[Sequence[str]], length: int) -> dict[str, Any]:
    result = known(texts, corpus, length)
    return {
        "conversations": result.knowing,
        "of": result.conversations,
        "percent": result.percent,
        "example": list(result.example),
    }


def _by_turn(
    exchanges: Exchanges, measures: Measures, talks: Sequence[Recorded], level: float
) -> dict[str, Any]:
    """Metrics by turn of all conversations, and of the best and the worst ones if quality is rated."""
    quality = np.array([each.ratings.get("quality", np.nan) for each in talks])
    groups: dict[str, BoolArray | None] = {"all": None}
    if (~np.isnan(quality)).sum() > 1:
        best, worst = best_and_worst(quality)
        groups |= {
            "best": np.isin(exchanges.conversation, best),
            "worst": np.isin(exchanges.conversation, worst),
        }
    return {
        group: {
            key: [
                {"turn": p.position, "mean": p.mean, "low": p.low, "high": p.high, "going_on": p.going_on}
                for p in trajectory(exchanges.position, measures.by_exchange[key], rows, level)
            ]
            for key in BY_TURN
            if key in measures.by_exchange
        }
        for group, rows in groups.items()
    }


# --- hybrid --------------------------------------------------------------------------------------------


def hybrid_metric(options: argparse.Namespace) -> dict[str, Any]:
    """Fit leave-one-bot-out least squares from metrics to ratings, and apply it to self-play."""
    rated = _rated(options.file, options.scale)
    names = sorted({each.bots[0] for each in rated})
    played = _played(options.self_play, names)
    encoders = _encoders(options)
    warned = [line for name in names for line in warnings(name, [each.turns for each in played[name]])]
    people, ratings, measures, left_out = _table(rated, names, encoders, options)
    machines, _, _, silent = _table(
        [each for name in names for each in played[name]], names, encoders, options
    )
    for number, name in enumerate(names):
        for paths, talks in (([options.file], people), (options.self_play, machines)):
            if not (talks.bot == number).any():
                raise FileError(
                    f"{_listed(paths)}: no conversation of {name} has a value for every metric; it falls "
                    f"silent at once. Have it talk again, or leave its ratings out."
                )
    quality = np.array([each[options.scale] for each in ratings])
    try:
        answer = hybrid(people, quality, machines, np.random.default_rng(SEED), level=options.level)
    except HybridError as error:
        raise FileError(f"{options.file}: {error}") from None
    return {
        "note": NOT_FOR_TRAINING,
        "scale": options.scale,
        "variant": options.variant,
        "level": options.level,
        "bots": len(names),
        "conversations": {"people": len(people.bot), "self_play": len(machines.bot)},
        "left_out": {"people": left_out, "self_play": silent},
        "missing": {title: why.reason for title, why in encoders.missing.items()},
        "warnings": warned,
        **_fitted(answer, measures),
        "by_bot": {name: _estimate(each) for name, each in zip(names, answer.bots, strict=True)},
        "correlations": _correlated(answer, people, ratings, options.level),
        "single_metrics": {
            metric.key: _each_correlation(people.values[:, column], quality, options.level)
            for column, metric in enumerate(measures.metrics)
        },
    }


def _rated(path: Path, scale: str) -> list[Recorded]:
    recorded = read_conversations(path)
    _by_bot(path, recorded)
    alone = next((each for each in recorded if each.turns and each.is_self_play), None)
    if alone:
        raise FileError(
            f"{path}, line {alone.line}: only bots speak in it. Give conversations with people first, then "
            f"those of self-play."
        )
    rated = [each for each in recorded if scale in each.ratings]
    if not rated:
        scales = sorted({key for each in recorded for key in each.ratings})
        there = f"they have {', '.join(scales)}; name one with --scale" if scales else "they have no ratings"
        raise FileError(f"{path}: no conversation is rated “{scale}”: {there}.")
    return rated


def _played(paths: Sequence[Path], names: Sequence[str]) -> dict[str, list[Recorded]]:
    by_bot: dict[str, list[Recorded]] = {name: [] for name in names}
    for path in paths:
        for each in read_conversations(path):
            if not each.is_self_play:
                raise FileError(
                    f"{path}, line {each.line}: not only bots speak in it, so it is not self-play."
                )
            if len(set(each.bots)) == 1 and each.bots[0] in by_bot:
                by_bot[each.bots[0]].append(each)
    lacking = [name for name in names if not by_bot[name]]
    if lacking:
        raise FileError(
            f"{_listed(paths)}: no conversation of {', '.join(lacking)} with itself. Names must be those of "
            f"the ratings: let each bot play with itself, or leave its ratings out."
        )
    return by_bot


def _listed(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths))


def _table(
    recorded: Sequence[Recorded], names: Sequence[str], encoders: Encoders, options: argparse.Namespace
) -> tuple[Talks, list[Mapping[str, float]], Measures, int]:
    """Metrics and ratings of conversations with a value for every metric, and the number of others."""
    self_play = all(each.is_self_play for each in recorded)
    talks: list[Conversation] = [
        [("bot" if speaker in each.bots else "person", text) for speaker, text in each.turns]
        for each in recorded
    ]
    measures = _measured(exchanges_of("bot", talks, self_play=self_play), encoders, options)
    values = measures.table()
    whole = np.asarray(np.isfinite(values).all(axis=1))
    bots = np.array([names.index(each.bots[0]) for each in recorded], dtype=np.int64)
    ratings = [each.ratings for each, is_whole in zip(recorded, whole, strict=True) if is_whole]
    return Talks(bots[whole], values[whole]), ratings, measures, int((~whole).sum())


def _fitted(answer: Hybrid, measures: Measures) -> dict[str, Any]:
    return {
        "intercept": answer.intercept,
        "r_squared": answer.r_squared,
        "condition_number": answer.condition,
        "p_permutation": answer.p.reason if isinstance(answer.p, Undefined) else answer.p,
        "coefficients": {
            metric.key: {
                "encoder": measures.encoders[metric.key] or None,
                "standardised": each.value,
                "raw": each.raw,
                "over_conversations": interval_json(each.interval),
                "over_bots": interval_json(each.over_bots),
                "folds": list(each.folds),
            }
            for metric, each in zip(measures.metrics, answer.coefficients, strict=True)
        },
    }


def _estimate(estimate: BotEstimate) -> dict[str, Any]:
    people, machines = estimate.conversations
    return {
        "foretold": estimate.value,
        "interval": interval_json(estimate.interval),
        "rated": estimate.rated,
        "conversations": {"people": people, "self_play": machines},
    }


def _correlated(
    answer: Hybrid, people: Talks, ratings: Sequence[Mapping[str, float]], level: float
) -> dict[str, Any]:
    """Correlations over bots of the predicted rating with each scale's mean."""
    predicted = np.array([bot.value for bot in answer.bots])
    scales = sorted(set.intersection(*(set(each) for each in ratings)))
    return {scale: _each_correlation(predicted, _means(scale, people, ratings), level) for scale in scales}


def _each_correlation(measure: FloatArray, rating: FloatArray, level: float) -> dict[str, Any]:
    return {
        name: _correlation(correlation) for name, correlation in correlations(measure, rating, level).items()
    }


def _means(scale: str, people: Talks, ratings: Sequence[Mapping[str, float]]) -> FloatArray:
    means: FloatArray = np.bincount(people.bot, [each[scale] for each in ratings]) / np.bincount(people.bot)
    return means


def _correlation(correlation: Correlation | Undefined) -> dict[str, Any]:
    if isinstance(correlation, Undefined):
        return {"cannot_be_told": correlation.reason}
    return {
        "value": correlation.value,
        "n": correlation.points,
        "interval": interval_json(correlation.interval),
    }
