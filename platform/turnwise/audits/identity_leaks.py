"""Identity leaks in blind studies: replies that name the bot or its maker.

Before the start they come from the newest audit of each bot and from the queue, afterwards from the
conversations.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.db import connection
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from chatbots.errors import ChatbotError
from chatbots.identity.name_leaks import Named, Names, named, named_among, names_of
from turnwise.audits.models import Audit, AuditedReply
from turnwise.bots import composition
from turnwise.bots.models import Bot
from turnwise.judging.queries import items_of
from turnwise.live.caching import cache_key, cached
from turnwise.studies.models import Study
from turnwise.studies.tasks import task_of

MOST_SHOWN = 50
# Replies that are read at most, so that the page stays fast.
MOST_READ = 20_000
# Characters of context on each side of a leak.
AROUND = 120
# Leaks that are shown of one audit.
MOST_OF_AUDIT = 3


@dataclass(frozen=True, slots=True)
class IdentityLeak:
    """A reply that names the bot or its maker, split at these words.

    Attributes:
        system: name of the system in reports.
        what: "system" or "maker".
        where: description of the place.
        address: page where it can be read; "" if there is none.
    """

    system: str
    what: str
    where: str
    address: str
    before: str
    words: str
    after: str


@dataclass(frozen=True, slots=True)
class BlindnessCheck:
    """Result of searching a study for identity leaks.

    Attributes:
        slips: the first of them, each text of a system once, those of audits first.
        said: number of replies of the study that were read.
        said_slips: number of these replies with a leak.
        unaudited: titles of bots that have no audit, so that nothing is known of them before the start.
    """

    slips: Sequence[IdentityLeak]
    said: int
    said_slips: int
    unaudited: Sequence[str]


# Reads conversation by conversation, so that the limit stops early.
_TURNS_SQL = """
SELECT bot.id, bot.title, t.text, d.public_id::text, t.position
  FROM (SELECT id, public_id, started_at, opening_turns FROM dialogues_dialogue
         WHERE study_id = %s ORDER BY started_at, id) AS d
 CROSS JOIN LATERAL (
       SELECT said.text, said.position, p.bot_id
         FROM dialogues_turn AS said
         JOIN dialogues_seat AS p ON p.dialogue_id = said.dialogue_id AND p.number = said.position %% 2
        WHERE said.dialogue_id = d.id AND said.position >= d.opening_turns AND p.bot_id IS NOT NULL
       OFFSET 0) AS t
  JOIN bots_bot AS bot ON bot.id = t.bot_id
 ORDER BY d.started_at, d.id, t.position
 LIMIT %s
"""
_ITEMS_SQL = f"""
SELECT v.bot_id, said.system, said.text, i.key::text, NULL
  FROM ({items_of()}) AS i
  LEFT JOIN bots_botversion AS v ON v.id = i.bot_version_id
 CROSS JOIN LATERAL (VALUES (i.system, i.text), (i.first_system, i.first_text),
                            (i.second_system, i.second_text)) AS said (system, text)
 WHERE said.text IS NOT NULL
 ORDER BY i.id
 LIMIT %s
"""


# Everything besides the results version that changes the result.
_CACHE_KEY_SQL = """
SELECT (SELECT max(id) FROM audits_audit WHERE state = 'done'),
       (SELECT md5(string_agg(concat_ws(' ', id, name, title, configuration), ' ' ORDER BY id))
          FROM bots_bot),
       (SELECT concat_ws(' ', count(*), max(id)) FROM judging_item WHERE study_id = %s)
"""


def blindness(study: Study) -> BlindnessCheck | None:
    """Search a blind study for identity leaks; None if the study is not blind.

    The result is cached until its inputs change, as thousands of texts are read.
    """
    if not task_of(study).is_blind(study):
        return None
    with connection.cursor() as cursor:
        cursor.execute(_CACHE_KEY_SQL, [study.pk])
        key = cache_key("blindness", study.pk, study.results_version, cursor.fetchone(), get_language())
    check: BlindnessCheck = cached(key, lambda: _check(study))
    return check


def _check(study: Study) -> BlindnessCheck:
    talks = task_of(study).has_conversations
    rows = _rows(study, _TURNS_SQL if talks else _ITEMS_SQL)
    keys = {row[0] for row in rows} | set(study.study_bots.values_list("bot", flat=True))
    bots = Bot.objects.in_bulk([pk for pk in keys if pk])
    names = {pk: names_of(bot.title, bot.name, _settings(bot)) for pk, bot in bots.items()}
    leaks = _find_leaks(rows, names)
    slips = [
        _leak(system, text, leaks[row], *_where(study, where, position))
        for row in _first_of_each_text(rows, leaks)[:MOST_SHOWN]
        for _bot, system, text, where, position in [rows[row]]
    ]
    audited = [bot for bot in bots.values() if not (bot.is_outside or bot.is_operated)] if talks else []
    before, unaudited = _leaks_in_audits(audited, names)
    return BlindnessCheck((*before, *slips)[:MOST_SHOWN], len(rows), len(leaks), unaudited)


def _find_leaks(rows: Sequence[tuple[Any, ...]], names: Mapping[int, Names]) -> dict[int, Named]:
    """Find leaks by row number."""
    of_system: dict[tuple[int | None, str], list[int]] = {}
    for row, (bot, system, *_rest) in enumerate(rows):
        of_system.setdefault((bot, system), []).append(row)
    return {
        rows_of[nth]: found
        for (bot, system), rows_of in of_system.items()
        for nth, found in named_among(
            [rows[row][2] for row in rows_of], names.get(bot or 0) or names_of(system, "")
        ).items()
    }


def _first_of_each_text(rows: Sequence[tuple[Any, ...]], found: Mapping[int, Named]) -> list[int]:
    """First row of each text of a system: duplicates are shown once."""
    first: dict[tuple[Any, ...], int] = {}
    for row in sorted(found):
        first.setdefault(rows[row][:3], row)
    return list(first.values())


def _settings(bot: Bot) -> dict[str, Any]:
    """Settings of the bot, including those of the bots inside, which may be named as well."""
    try:
        return composition.filled(bot.adapter, bot.configuration)
    except ChatbotError:  # its adapter, or a bot inside, is gone
        configuration: dict[str, Any] = bot.configuration
        return configuration


def _rows(study: Study, statement: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, [study.pk, MOST_READ])
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _leaks_in_audits(bots: Sequence[Bot], names: Mapping[int, Names]) -> tuple[list[IdentityLeak], list[str]]:
    """Leaks in the newest audit of each bot, and the titles of bots without an audit."""
    done = Audit.objects.filter(bot__in=bots, state=Audit.State.DONE).order_by("bot_id", "-pk")
    audits = {audit.bot_id: audit for audit in done.distinct("bot_id").select_related("bot")}
    leaks = []
    for audit in audits.values():
        of_bot = _leaks_of_audit(audit, names[audit.bot_id])
        leaks += list(islice(of_bot, MOST_OF_AUDIT))
    return leaks, sorted(bot.title for bot in bots if bot.pk not in audits)


def _leaks_of_audit(audit: Audit, names: Names) -> Iterator[IdentityLeak]:
    """Yield the leaks of an audit, each different reply once."""
    seen = set()
    for text in AuditedReply.objects.filter(audit=audit).order_by("pk").values_list("text", flat=True):
        if text not in seen and (found := named(text, names)):
            seen.add(text)
            where = _("Audit of %(date)s") % {"date": f"{audit.created_at:%-d %b %Y}"}
            yield _leak(audit.bot.title, text, found, where, audit.get_absolute_url())


def _where(study: Study, where: str, position: int | None) -> tuple[str, str]:
    """Description and address of a reply."""
    if position is None:
        return _("In the queue"), reverse("judging:item", args=[study.pk, where])
    address = f"{reverse('labels:transcript', args=[where])}#turn-{position}"
    return _("Turn %(position)s of a conversation") % {"position": position + 1}, address


def _leak(system: str, text: str, name: Named, where: str, address: str) -> IdentityLeak:
    before, after = text[max(0, name.start - AROUND) : name.start], text[name.end : name.end + AROUND]
    return IdentityLeak(
        system,
        name.what,
        where,
        address,
        ("\u2026" if name.start > AROUND else "") + before,
        text[name.start : name.end],
        after + ("\u2026" if name.end + AROUND < len(text) else ""),
    )
