"""Refusals shown to workers: why they cannot take part or continue. Raising one changes no data."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from turnwise.crowd.models import Outcome
from turnwise.studies.models import Study


class EntryRefusedError(Exception):
    """A worker cannot take part or continue.

    Attributes:
        reason: stable key of the reason.
        title, say, cure: texts of the page: heading, explanation, and what to do.
        status: HTTP status of the page.
        outcome: outcome to report to the worker's panel; None if the participation did not end.
    """

    def __init__(
        self, reason: str, *, status: int, title: str, say: str, cure: str, outcome: Outcome | None = None
    ) -> None:
        super().__init__(say)
        self.reason = reason
        self.status = status
        self.title = title
        self.say = say
        self.cure = cure
        self.outcome = outcome


def unknown_study() -> EntryRefusedError:
    return EntryRefusedError(
        "unknown_study",
        status=404,
        title=_("There is no study here"),
        say=_("The link does not lead to a study."),
        cure=_("Check that you copied the whole link, or ask the person who gave it to you."),
    )


def not_open() -> EntryRefusedError:
    return EntryRefusedError(
        "study_not_open",
        status=403,
        title=_("This study is not open"),
        say=_("It takes no new participants at the moment."),
        cure=_(
            "If you have already started, your work is safe and you can finish it: in the browser you "
            "started with, or with your resume code."
        ),
        outcome=Outcome.STUDY_FULL,
    )


def paused() -> EntryRefusedError:
    return EntryRefusedError(
        "paused",
        status=403,
        title=_("This study is paused"),
        say=_("The research team has paused it for now, and nobody new can start."),
        cure=_(
            "Try again later: the same link will work once the study resumes. If you have already started, "
            "your work is safe: you can continue in the browser you started with, or with your resume code."
        ),
    )


def not_taking(study: Study) -> EntryRefusedError:
    """Refusal by a study that is paused, closed or a draft."""
    return paused() if study.state == Study.State.PAUSED else not_open()


def full(*, may_become_free: bool) -> EntryRefusedError:
    say = _("There is nothing left for you to do here.")
    cure = _("If you came from a panel, return the task there.")
    if may_become_free:
        say = _("Other people are already doing what is left.")
        cure = _("A place may become free: try again in an hour, or return the task to your panel.")
    return EntryRefusedError(
        "study_full",
        status=409,
        title=_("All places are taken"),
        say=say,
        cure=cure,
        outcome=Outcome.STUDY_FULL,
    )


def place_gone(*, may_start: bool) -> EntryRefusedError:
    """Refusal of a worker who pressed Start but sent no message before others took the place."""
    cure = _("If you came from a panel, return the task there. A place may become free in an hour.")
    if may_start:
        cure = _("There are places with other chatbots: go to the first page of the study and start there.")
    return EntryRefusedError(
        "place_gone",
        status=409,
        title=_("Your place was taken"),
        say=_(
            "While your page was idle, other people took the last places with the chatbot you were given. "
            "You had not sent anything, so no work of yours is lost."
        ),
        cure=cure,
        outcome=None if may_start else Outcome.STUDY_FULL,
    )


def bots_unavailable() -> EntryRefusedError:
    return EntryRefusedError(
        "resting",
        status=503,
        title=_("The chatbots are not running"),
        say=_("None of the chatbots is running at the moment. The research team can see this."),
        cure=_("Reload this page in a few minutes."),
    )


def no_bot() -> EntryRefusedError:
    return EntryRefusedError(
        "no_bot",
        status=503,
        title=_("No chatbot is available right now"),
        say=_("None of the chatbots that still need conversations is running at the moment."),
        cure=_(
            "Your place in the study is kept: reload this page in a few minutes. The research team can see "
            "that the chatbots are down."
        ),
    )


def not_started() -> EntryRefusedError:
    return EntryRefusedError(
        "no_session",
        status=401,
        title=_("We do not know this browser"),
        say=_("Your session is missing or has expired. If you have already started, your work is safe."),
        cure=_("Open the study link again and enter your resume code, or start from the beginning."),
    )


def started_elsewhere() -> EntryRefusedError:
    return EntryRefusedError(
        "already_started",
        status=409,
        title=_("You have already started"),
        say=_(
            "Someone with your participant id has started this study in another browser. That work is safe."
        ),
        cure=_(
            "Enter the resume code that was shown there, or continue in that browser. If you have neither, "
            "ask the research team, who can look it up."
        ),
    )


def already_done() -> EntryRefusedError:
    return EntryRefusedError(
        "already_done",
        status=409,
        title=_("You have already taken part"),
        say=_("You can take part in this study only once, and you already have. Your earlier work is safe."),
        cure=_(
            "To be paid for it, do what its last page says: the browser that you used then still shows it."
        ),
        outcome=Outcome.SCREENED_OUT,
    )


def took_part_often() -> EntryRefusedError:
    return _did_all(
        "took_part_often",
        _("You have taken part in this study as often as you can. All your work is safe."),
    )


def talked_with_all_bots() -> EntryRefusedError:
    return _did_all(
        "met_all",
        _("You have talked with every chatbot in this study once. All your work is safe."),
    )


def _did_all(reason: str, say: str) -> EntryRefusedError:
    return EntryRefusedError(
        reason,
        status=409,
        title=_("You have already taken part"),
        say=say,
        cure=_("There is nothing more to do. Thank you for coming."),
        outcome=Outcome.SCREENED_OUT,
    )


def re_enter_from_panel() -> EntryRefusedError:
    return EntryRefusedError(
        "again_from_panel",
        status=409,
        title=_("You have already taken part"),
        say=_("You have done what your panel pays you for."),
        cure=_("To take part again, open the study again from your panel."),
    )


def took_part_and_erased() -> EntryRefusedError:
    return EntryRefusedError(
        "took_part_and_erased",
        status=409,
        title=_("You have already taken part"),
        say=_(
            "You can take part in this study only once, and you already have. Your data has been erased or "
            "withdrawn; only that you took part is still known."
        ),
        cure=_("Nothing was stored about this visit."),
        outcome=Outcome.SCREENED_OUT,
    )


def unknown_data_link() -> EntryRefusedError:
    return EntryRefusedError(
        "unknown_own_link",
        status=404,
        title=_("There is no data here"),
        say=_("The link does not lead to anyone's data."),
        cure=_("Check that you copied the whole link. It is also on your last page of the study."),
    )


def ended() -> EntryRefusedError:
    return EntryRefusedError(
        "ended",
        status=409,
        title=_("Your part in this study has ended"),
        say=_("It ended before the work was done, so you cannot start again."),
        cure=_("The first page of the study says how it ended, and leads you back."),
    )


def took_part_elsewhere() -> EntryRefusedError:
    return EntryRefusedError(
        "took_part_elsewhere",
        status=403,
        title=_("This study is not for you"),
        say=_("It needs people who have not taken part in an earlier study, and you have."),
        cure=_("Nothing was stored about this visit. Thank you for coming."),
        outcome=Outcome.SCREENED_OUT,
    )


# --- links --------------------------------------------------------------------------------------


def _link(reason: str, say: str, cure: str, *, status: int = 400) -> EntryRefusedError:
    return EntryRefusedError(reason, status=status, title=_("This link does not work"), say=say, cure=cure)


def malformed_link(problem: str) -> EntryRefusedError:
    return _link(
        "odd_link",
        problem,
        _(
            "Open the study again from where you found it. If this page appears again, return the task there "
            "and tell the research team."
        ),
    )


def not_signed() -> EntryRefusedError:
    return _link(
        "not_signed",
        _("It has no signature, so we cannot tell that it is from your panel."),
        _("Open the study again from your panel, and do not shorten the link."),
        status=403,
    )


def wrongly_signed() -> EntryRefusedError:
    return _link(
        "wrongly_signed",
        _("Its signature is not valid: the link was altered on the way, or belongs to another study."),
        _("Open the study again from your panel, and do not change the link."),
        status=403,
    )


def not_invited() -> EntryRefusedError:
    return _link(
        "not_invited",
        _("There is no such invitation to this study."),
        _("Check that you copied the whole link, or ask for a new one."),
        status=403,
    )


def used_submission() -> EntryRefusedError:
    return _link(
        "used_submission",
        _("Somebody else has already used it, so its pay is theirs."),
        _("Open the study again from your own account at the panel."),
        status=409,
    )


def other_panel(panel: str) -> EntryRefusedError:
    return _link(
        "other_panel",
        _("It comes from %(panel)s, and this study does not take people from there.") % {"panel": panel},
        _("Return the task there, and tell the research team if you can."),
        status=403,
    )


def needs_panel(panels: Sequence[str]) -> EntryRefusedError:
    return _link(
        "needs_panel",
        _("You can start this study only from: %(panels)s.") % {"panels": ", ".join(panels)},
        _(
            "Open it from there. If you have already started, continue with your resume code. If you see "
            "this page although you came from there, the link is wrong: return the task and tell the "
            "research team."
        ),
        status=403,
    )


def stale_page() -> EntryRefusedError:
    return _link(
        "stale_page",
        _("The page was open for too long, or what it sent was altered."),
        _("Open the study again from where you found it. No changes were made."),
    )
