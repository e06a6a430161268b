"""Departures of a study from its frozen plan, in sentences for its report."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from turnwise.accounts.models import Event
from turnwise.bots.models import BotVersion
from turnwise.crowd.models import Participation
from turnwise.dialogues.models import Turn
from turnwise.live.templatetags.times import utc_time
from turnwise.studies.models import Preregistration, Study
from turnwise.studies.plans.preregistration import plan_of
from turnwise.studies.plans.stopping import stopping_rule_of
from turnwise.studies.queries import counts_of
from turnwise.studies.services import PROTOCOL_FIELDS

_EDITED = ("studies:edit", "api-1:edit", "api-1:change_bots")
_NOT_COMPARED = ("format", "version", "turnwise", "frozen_at", "bots", "main_score", "stopping_rule")
_LONGEST_SHOWN = 60


def departures_of(study: Study) -> list[str] | None:
    """List every departure from the plan; None for a study without one."""
    stored = Preregistration.objects.filter(study=study).first()
    if stored is None:
        return None
    now = plan_of(study, PROTOCOL_FIELDS)
    return [
        *_settings(stored.plan, now),
        *_bots(study, stored, now),
        *_edits(study, stored),
        *_exclusions(study, stored),
        *_numbers(study),
    ]


def _settings(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    # Field by field, and only those of the stored plan: a newer Turnwise may describe more. One field of the
    # protocol is its name, and is called `protocol` too.
    planned, current = {**before, **before["protocol"]}, {**now, **now["protocol"]}
    for name in [key for key in planned if key not in _NOT_COMPARED]:
        was, then = planned[name], current.get(name)
        if was == then:
            continue
        if max(len(str(was)), len(str(then))) > _LONGEST_SHOWN:
            yield _("“%(name)s” is not as it was planned.") % {"name": name.replace("_", " ")}
        else:
            values = {"name": name.replace("_", " "), "was": was, "now": then}
            yield _("“%(name)s” was planned as “%(was)s” and is now “%(now)s”.") % values


def _bots(study: Study, stored: Preregistration, now: Mapping[str, Any]) -> Iterator[str]:
    planned = {bot["bot"]: bot for bot in stored.plan["bots"]}
    used = {bot["bot"]: bot for bot in now["bots"]}
    for name in sorted(planned.keys() - used.keys()):
        yield _("%(bot)s was planned and gets no further workers.") % {"bot": planned[name]["title"]}
    for name in sorted(used.keys() - planned.keys()):
        yield _("%(bot)s was added after the opening.") % {"bot": used[name]["title"]}
    for name in sorted(planned.keys() & used.keys()):
        if planned[name]["target"] != used[name]["target"]:
            values = {
                "bot": used[name]["title"],
                "was": planned[name]["target"],
                "now": used[name]["target"],
            }
            yield _("%(was)s conversations with %(bot)s were planned; it is now %(now)s.") % values
    known = [bot["fingerprint"] for bot in planned.values() if bot["fingerprint"]]
    later = BotVersion.objects.filter(bot__name__in=planned, first_seen_at__gt=stored.frozen_at)
    if study.dialogues.exists():  # a version that only other studies used is no departure of this one
        replies = Turn.objects.filter(dialogue__study=study, bot_version=OuterRef("pk"))
        later = later.filter(Exists(replies))
    for each in later.exclude(fingerprint__in=known).select_related("bot").order_by("pk"):
        if planned[each.bot.name]["fingerprint"] is None:
            continue  # it had not answered yet, so this may be the planned one
        values = {"bot": planned[each.bot.name]["title"], "at": utc_time(each.first_seen_at)}
        yield _("%(bot)s was replaced by another version of it on %(at)s.") % values


def _edits(study: Study, stored: Preregistration) -> Iterator[str]:
    """List when the study was edited, by the audit log. `_settings` lists what is still changed."""
    paths = Q(path__startswith=f"/studies/{study.pk}/") | Q(path__startswith=f"/api/studies/{study.code}")
    edits = Event.objects.filter(paths, action__in=_EDITED, at__gt=stored.frozen_at)
    times = [utc_time(at) for at in edits.order_by("at").values_list("at", flat=True)]
    if times:
        says = ngettext(
            "By the audit log, the study's form was saved once after the opening: %(at)s.",
            "By the audit log, the study's form was saved %(n)s times after the opening: %(at)s.",
            len(times),
        )
        yield says % {"n": len(times), "at": ", ".join(times)}


def _exclusions(study: Study, stored: Preregistration) -> Iterator[str]:
    excluded = Participation.objects.filter(study=study, excluded_at__gt=stored.frozen_at)
    reasons = Counter(excluded.values_list("excluded_reason", flat=True))
    for reason, number in sorted(reasons.items()):
        says = ngettext("%(n)s worker was excluded: %(why)s", "%(n)s workers were excluded: %(why)s", number)
        yield says % {"n": number, "why": reason}


def _numbers(study: Study) -> Iterator[str]:
    rule = stopping_rule_of(study)
    if rule and rule.reopened_at:
        yield _("The study was opened again on %(at)s, after its rule had stopped it.") % {
            "at": utc_time(rule.reopened_at)
        }
    if study.state != Study.State.CLOSED or (rule and rule.stopped_at):
        return
    finished, planned = counts_of([study]).get(study.pk, (0, 0))
    if rule:
        yield _("The study was closed by hand, before its stopping rule had closed it.")
    if finished != planned:
        yield _("The study was closed with %(n)s units of work finished of %(planned)s planned.") % {
            "n": finished,
            "planned": planned,
        }
