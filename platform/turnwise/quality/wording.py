"""Flags in words: what was found, with its figures; and what may be written to whose work is rejected."""

from collections.abc import Callable, Mapping

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from evaluation.quality.flags import Kind

Figures = Mapping[str, float]

TITLES = {
    Kind.UNREAD: gettext_lazy("Answers before reading"),
    Kind.FAST: gettext_lazy("Much faster than the others"),
    Kind.RUN: gettext_lazy("The same answer in a row"),
    Kind.REPEATS: gettext_lazy("Another answer the second time"),
    Kind.PEERS: gettext_lazy("Little agreement with the others"),
    Kind.GOLD: gettext_lazy("Gold judged wrongly"),
    Kind.ATTENTION: gettext_lazy("An attention check failed"),
    Kind.MACHINE: gettext_lazy("Possibly written by a machine"),
    Kind.PASTED: gettext_lazy("Messages pasted"),
}


def _percent(share: float) -> int:
    return round(100 * share)


def _unread(f: Figures) -> str:
    return _("%(unread)d of %(answers)d answers came faster than anybody can read what they judge.") % f


def _fast(f: Figures) -> str:
    return _(
        "Took %(percent)d\u00a0%% of the time that others took for the same items (median of %(items)d)."
    ) % {
        "percent": _percent(f["pace"]),
        "items": f["items"],
    }


def _run(f: Figures) -> str:
    return (
        _(
            "%(length)d of %(answers)d answers in a row are the same; judging by the answers of others, the "
            "chance of that is at most %(chance).1g."
        )
        % f
    )


def _repeats(f: Figures) -> str:
    return _("Of what was shown a second time, %(same)d of %(of)d answers were the same or next to it.") % f


def _peers(f: Figures) -> str:
    says = _(
        "Agrees with others in %(own)d\u00a0%% of the answers on %(items)d items, while they agree among "
        "themselves in %(others)d\u00a0%%."
    ) % {"own": _percent(f["own"]), "others": _percent(f["others"]), "items": f["items"]}
    if "alpha" not in f:
        return says
    alpha = _(
        " Krippendorff's alpha of whole answers is %(alpha).2f with them, and %(alpha_without).2f without."
    )
    return says + alpha % f


def _gold(f: Figures) -> str:
    return _("%(right)d of %(of)d gold items were judged correctly (%(low)d to %(high)d\u00a0%%).") % {
        "right": f["right"], "of": f["of"], "low": _percent(f["low"]), "high": _percent(f["high"]),
    }  # fmt: skip


def _attention(f: Figures) -> str:
    return (
        ngettext(
            "%(missed)d of %(of)d attention check was failed.",
            "%(missed)d of %(of)d attention checks were failed.",
            int(f["of"]),
        )
        % f
    )


def _machine(f: Figures) -> str:
    return (
        _("%(marked)d of %(messages)d messages carry marks of a language model, a weak sign: read them.") % f
    )


def _pasted(f: Figures) -> str:
    return _(
        "%(pasted)d of %(messages)d messages were mostly pasted; all were typed in %(seconds)d seconds in "
        "total."
    ) % {"pasted": f["pasted"], "messages": f["messages"], "seconds": round(f["seconds"])}


_SAYS: Mapping[Kind, Callable[[Figures], str]] = {
    Kind.UNREAD: _unread,
    Kind.FAST: _fast,
    Kind.RUN: _run,
    Kind.REPEATS: _repeats,
    Kind.PEERS: _peers,
    Kind.GOLD: _gold,
    Kind.ATTENTION: _attention,
    Kind.MACHINE: _machine,
    Kind.PASTED: _pasted,
}


def in_words(kind: str, figures: Figures) -> str:
    """A flag in a sentence."""
    return _SAYS[Kind(kind)](figures)


def message_for(says: str) -> str:
    """What may be written to whose work is rejected for this; whoever rejects can change it."""
    return _(
        "We are sorry that we cannot accept your work in this study: %(says)s If you think that this is a "
        "mistake, write to us, and a person will look at it again."
    ) % {"says": says}
