"""Points of relations: bots or versions with their scores and their perplexity or human-likeness."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from turnwise.bots.models import BotVersion
from turnwise.comparisons.measures import HUMAN_LIKE, Measured, Point, relation_figures
from turnwise.comparisons.protocols import pooled_level
from turnwise.comparisons.scores import (
    CACHE_SHAPE,
    LabelSelection,
    Scored,
    SystemKey,
    conversations,
    result_versions,
    scores_by_key,
)
from turnwise.live.caching import cache_key, cached
from turnwise.reports.report_kinds import reported_task
from turnwise.studies.models import Study


@dataclass(frozen=True, slots=True)
class Omission:
    """A bot, version or other system without a point, and the reason; `bot` is "" for other systems."""

    name: str
    bot: str
    why: str


@dataclass(frozen=True, slots=True)
class RelationData:
    """Figures, omissions and warnings on a page of a relation."""

    figures: dict[str, Any]
    left_out: Sequence[Omission]
    warnings: Sequence[str]


def scores_of(studies: Sequence[Study], selection: LabelSelection, by: str) -> dict[SystemKey, Scored]:
    """Scores over these studies by bot or version (`by`) or other system; cached until the studies change.

    Raises:
        scores.TooMuchError: there are more conversations than a page may read.
    """
    level = pooled_level(studies)
    scored: dict[SystemKey, Scored] = cached(
        cache_key(
            "scores",
            CACHE_SHAPE,
            result_versions(studies),
            selection.questions.key,
            selection.whole,
            by,
            level,
        ),
        lambda: scores_by_key(
            lambda conversation: conversation.bot if by == "bot" else conversation.version,
            conversations([study.pk for study in studies], selection),
            selection,
            lambda _: level,
        ),
    )
    return scored


def against_perplexity(studies: Sequence[Study], measured: Measured) -> RelationData:
    """Scores of each version against its perplexity. Raises `TooMuchError`."""
    scores = scores_of(studies, measured.selection, "version")
    versions = _versions(scores)
    names = version_names(versions)
    with_perplexity = [version for version in versions if version.perplexity is not None]
    points = [
        _point(names[each.pk], each.bot.name, {"value": each.perplexity}, scores[each.pk])
        for each in sorted(with_perplexity, key=lambda version: version.perplexity or 0)
    ]
    left_out = [
        Omission(names[each.pk], each.bot.name, "no perplexity is recorded") for each in versions
        if each.perplexity is None
    ] + [
        Omission(each, "", ("it is not a bot, so it has "
"no perplexity")) for each in scores if isinstance(each, str)
    ]  # fmt: skip
    figures = relation_figures("perplexity per token", points, measured)
    return RelationData(
        figures,
        left_out,
        [*pooling_warnings(studies, [measured]), *perplexity_warnings(with_perplexity, names)],
    )


def against_human_likeness(studies: Sequence[Study], measured: Measured, by: str) -> RelationData:
    """Scores of each bot or version against its human-likeness. Raises `TooMuchError`."""
    scores = scores_of(studies, measured.selection, by)
    human = scores_of(studies, HUMAN_LIKE.selection, by)
    names, slugs = _names_and_slugs({*scores, *human}, by)
    both = sorted(set(scores) & set(human), key=lambda pk: names[pk])
    x = HUMAN_LIKE.main.key
    points = [_point(names[pk], slugs[pk], human[pk].cells[x], scores[pk]) for pk in both]
    left_out = [
        Omission(names[pk], slugs[pk], "it has no labels of human-likeness in these studies" if pk in scores
                else f"it has no labels of {measured.title.lower()} in these studies")
        for pk in sorted(set(scores) ^ set(human), key=lambda pk: names[pk])
    ]  # fmt: skip
    figures = relation_figures("human-likeness, percent", points, measured)
    return RelationData(figures, left_out, pooling_warnings(studies, [measured, HUMAN_LIKE]))


def pooling_warnings(studies: Sequence[Study], measured: Sequence[Measured]) -> list[str]:
    """Warnings about scores that mix labels from conversations with judgments of responses."""
    kinds = {
        each.title: {
            reported_task(study).evaluation
            for study in studies
            if any(ask.question_set == each.key and ask.about in each.about for ask in study.work_asks)
        }
        for each in measured
    }
    return [
        f"{title}: labels from conversations and judgments of responses count together. They are different "
        f"measurements; tick studies of one kind to see one of them."
        for title, evaluations in sorted(kinds.items())
        if len(evaluations) > 1
    ]


def _point(name: str, bot: str, x: Mapping[str, Any], scored: Scored) -> Point:
    return Point(name, bot, x, scored.cells, scored.conversations, scored.labels)


def _names_and_slugs(
    who: Collection[SystemKey], by: str
) -> tuple[dict[SystemKey, str], dict[SystemKey, str]]:
    """Names of bots, versions and other systems, and the bots' names in addresses."""
    names: dict[SystemKey, str] = {each: each for each in who if isinstance(each, str)}
    slugs = dict.fromkeys(names, "")
    of_bots, addresses = _bot_names_and_slugs([each for each in who if isinstance(each, int)], by)
    names.update(of_bots.items())
    slugs.update(addresses.items())
    return names, slugs


def _bot_names_and_slugs(pks: Sequence[int], by: str) -> tuple[dict[int, str], dict[int, str]]:
    versions = BotVersion.objects.select_related("bot")
    if by == "version":
        rows = list(versions.filter(pk__in=pks))
        return version_names(rows), {version.pk: version.bot.name for version in rows}
    bots = {version.bot_id: version.bot for version in versions.filter(bot__in=pks)}
    shared = Counter(bot.title for bot in bots.values())
    names = {
        pk: f"{bot.title} ({bot.name})" if shared[bot.title] > 1 else bot.title for pk, bot in bots.items()
    }
    return names, {pk: bot.name for pk, bot in bots.items()}


def _versions(who: Iterable[SystemKey]) -> list[BotVersion]:
    pks = [each for each in who if isinstance(each, int)]
    return list(BotVersion.objects.filter(pk__in=pks).select_related("bot").order_by("bot__name", "pk"))


def version_names(versions: Sequence[BotVersion]) -> dict[int, str]:
    """Names of versions by id: the bot's title, with the version if several share the title."""
    shared = Counter(version.bot.title for version in versions)
    return {
        version.pk: f"{version.bot.title} {version.name}"
        if shared[version.bot.title] > 1
        else version.bot.title
        for version in versions
    }


def perplexity_warnings(versions: Sequence[BotVersion], names: Mapping[int, str]) -> list[str]:
    """Warnings if the perplexities of these versions are not comparable."""
    caution = (
        "Only perplexities of the same data and the same tokenizer can be compared; the line and the "
        "correlations below take them as they are."
    )
    warnings = []
    for what, notes in (
        ("data", {each.pk: each.perplexity_data for each in versions}),
        ("tokenizers", {each.pk: each.perplexity_tokenizer for each in versions}),
    ):
        of_note: dict[str, list[str]] = {}
        for pk, note in notes.items():
            of_note.setdefault(note, []).append(names[pk])
        if len(of_note) > 1:
            notes_text = "; ".join(
                f"{', '.join(who)}: {f'“{note}”' if note else 'not known'}" for note, who in of_note.items()
            )
            warnings.append(f"The perplexities belong to different {what}: {notes_text}. {caution}")
        elif "" in of_note:
            warnings.append(f"It is not known to which {what} the perplexities belong. {caution}")
    return warnings
