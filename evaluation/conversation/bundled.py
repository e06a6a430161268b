"""Conversations from a study's bundle, with the ratings that people gave to the whole of them."""

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from evaluation.conversation.recorded import Recorded
from evaluation.csv_file import FileError
from evaluation.questions import DeclarationError, QuestionSet
from evaluation.report.bundle_files import BundleFiles, Row
from evaluation.report.columns import answered_in
from evaluation.report.tables import CONVERSATIONS, TURNS, labels_table

SELF_PLAY = "self_play"
_PERSON = "person"
_WITHOUT = ("static", "pairwise", "writing")


def read_bundle(path: Path) -> list[Recorded]:
    """The finished conversations of a study in which bots talk, with people or with each other.

    Raises:
        FileError: no bundle, or one of a study without conversations; names the file in it.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(BundleFiles(path, archive))
    except zipfile.BadZipFile as error:
        raise FileError(
            f"{path}: {error}. The download may be incomplete; download the bundle again."
        ) from None


def _read(bundle: BundleFiles) -> list[Recorded]:
    about = bundle.document("study.json")
    if about.get("evaluation") in _WITHOUT:
        raise FileError(
            f"{bundle.path}: in this study people judge what others said. Give the bundle of a study in "
            f"which bots talk."
        )
    conversations = {
        row["dialogue"]: row for row in bundle.rows(CONVERSATIONS) if row["bot"] and _is_whole(row, about)
    }
    names = {bot["bot"]: bot["shown_as"] for bot in about["bots"]}
    said: dict[str, list[tuple[str, str]]] = {key: [] for key in conversations}
    for row in bundle.rows(TURNS):
        talk = conversations.get(row["dialogue"])
        if talk and row["turn"] >= talk["opening_turns"]:
            said[row["dialogue"]].append((names.get(row["bot"], _PERSON), row["text"]))
    ratings = _ratings(bundle, about)
    return [
        Recorded(line, tuple(names[bot] for bot in row["bot"].split()), said[key], ratings.get(key, {}))
        for line, (key, row) in enumerate(conversations.items(), 1)
    ]


def _is_whole(conversation: Row, about: Mapping[str, Any]) -> bool:
    """Finished; of self-play also one in which a bot fell silent."""
    if about.get("evaluation") == SELF_PLAY:
        return conversation["ended_at"] is not None
    return bool(conversation["ending"] == "complete")


def _ratings(bundle: BundleFiles, about: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """By conversation and scale, the mean over those who talked in it; none of self-play."""
    if "asks" not in about or about["evaluation"] == SELF_PLAY:
        return {}
    sets = _sets(bundle)
    scales = answered_in(sets)
    given: dict[str, dict[str, list[float]]] = {}
    for row in bundle.rows(labels_table(sets)):
        if row["turn"] is None and row.get("judged_in") is None:
            for key, value in _numbers(row, scales[row["question_set"]]):
                given.setdefault(row["dialogue"], {}).setdefault(key, []).append(value)
    return {talk: {key: fmean(values) for key, values in of.items()} for talk, of in given.items()}


def _numbers(row: Row, columns: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, question in columns.items():
        value = row[name]
        if question.has_mean and value is not None and not isinstance(value, str):
            yield question.key, float(value)


def _sets(bundle: BundleFiles) -> list[QuestionSet]:
    try:
        return [QuestionSet.from_json(declared) for declared in bundle.listed("questions.json")]
    except DeclarationError as error:
        raise FileError(f"{bundle.path}, questions.json: {error}") from None
