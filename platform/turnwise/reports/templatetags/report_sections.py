"""Sections of a report's page: parts rendered once and cached, and one line in the summary of a fold."""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from django import template
from django.conf import settings
from django.template.base import FilterExpression, Node, NodeList, Parser, Token
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _

from evaluation.files.writing import figure
from turnwise.crowd.queries import BotProgress
from turnwise.live.caching import cache_key, cached

register = template.Library()


class RenderedPart(Node):
    def __init__(self, nodelist: NodeList, report: FilterExpression, name: str) -> None:
        self.nodelist, self.report, self.name = nodelist, report, name

    def render(self, context: template.Context) -> SafeString:
        report = self.report.resolve(context)
        key = cache_key("part", report.pk, str(report.finished_at), self.name, get_language(), _code())
        # A report of 30 bots has megabytes of cells that differ in few digits.
        packed: bytes = cached(key, lambda: zlib.compress(self.nodelist.render(context).encode(), 1))
        return mark_safe(zlib.decompress(packed).decode())


@register.tag
def rendered_once(parser: Parser, token: Token) -> RenderedPart:
    """Render a block once for a report: `{% rendered_once report "results" %}…{% end_rendered_once %}`.

    The block may read only what never changes after the report is ready. The name tells blocks apart.
    """
    try:
        _, report, name = token.split_contents()
    except ValueError as error:
        raise template.TemplateSyntaxError("rendered_once needs a report and a name in quotes.") from error
    nodelist = parser.parse(("end_rendered_once",))
    parser.delete_first_token()
    return RenderedPart(nodelist, parser.compile_filter(report), name)


@cache
def _code() -> list[Any]:
    """Newest change of the templates and tags that the parts are made of: a new version renders them anew."""
    files = list((settings.ROOT / "templates").rglob("*.html"))
    files += Path(__file__).parents[2].rglob("templatetags/*.py")
    return [len(files), max(path.stat().st_mtime_ns for path in files)]


Result = Mapping[str, Any]


@register.filter
def course_summary(result: Result) -> str:
    """Finished conversations and faults of all bots."""
    bots = result["course"]["bots"]
    finished = sum(bot["finished"] for bot in bots)
    faults = sum(fault["times"] for bot in bots for fault in bot["faults"])
    return _listed(
        ngettext("%(n)s conversation finished", "%(n)s conversations finished", finished) % {"n": finished},
        ngettext("%(n)s fault", "%(n)s faults", faults) % {"n": faults} if faults else _("no faults"),
    )


@register.filter
def workers_summary(result: Result) -> str:
    """Numbers of workers in the primary analysis, excluded workers and flagged workers."""
    workers, excluded = result["raters"].get("workers") or 0, len(result.get("excluded") or ())
    signs_of = (result.get("flagged") or {}).get("workers", ())
    flagged = sum(bool(each["labels"]) for each in signs_of)  # as the workers are counted
    signs = ngettext("%(n)s shows signs of carelessness", "%(n)s show signs of carelessness", flagged)
    return _listed(
        ngettext("%(n)s worker", "%(n)s workers", workers) % {"n": workers},
        ngettext("%(n)s excluded", "%(n)s excluded", excluded) % {"n": excluded} if excluded else "",
        signs % {"n": flagged} if flagged else "",
        _("counting excluded ones") if flagged and excluded else "",
    )


@register.filter
def quality_summary(result: Result) -> str:
    """Range of Krippendorff's alpha, and departures from the published protocol."""
    return _listed(_alpha(result.get("agreement") or ()), _deviations(result))


def _alpha(rows: Sequence[Mapping[str, Any]]) -> str:
    values = [row["alpha"] for row in rows if row.get("alpha") is not None and not row.get("undefined")]
    if not values:
        return _("agreement unknown")
    low, high = figure(min(values), 2), figure(max(values), 2)
    if low == high:
        return _("alpha %(value)s") % {"value": low}
    return _("alpha %(low)s to %(high)s") % {"low": low, "high": high}


def _deviations(result: Result) -> str:
    if not result.get("protocol_key"):
        return ""
    n = len(result.get("deviations") or ())
    if not n:
        return _("no departure from the protocol")
    return ngettext("%(n)s departure from the protocol", "%(n)s departures from the protocol", n) % {"n": n}


@register.filter
def ask_summary(result: Result) -> str:
    """Leader by the main score of a set of questions, and the size of its lead."""
    answer = result.get("answer")
    if not answer:
        return ""
    if not answer.get("next"):
        return f"{answer['leader']}: {figure(answer['value'])} ({answer['score']})"
    return _("%(leader)s and %(next)s: %(by)s points of %(score)s apart") % {
        "leader": answer["leader"],
        "next": answer["next"],
        "by": figure(answer["difference"]),
        "score": answer["score"],
    }


@register.filter
def progress_summary(rows: Iterable[BotProgress]) -> str:
    """Finished conversations, of all that the study wants."""
    counts = [(row.finished, row.target) for row in rows]
    finished, target = (sum(each) for each in zip(*counts, strict=True))
    return _("%(finished)s of %(target)s conversations") % {"finished": finished, "target": target}


def _listed(*facts: str) -> str:
    return ", ".join(fact for fact in facts if fact)
