"""Why a worker was turned away, in words for the worker. Nothing changes when one is raised."""


class EntryRefusedError(Exception):
    """A worker cannot go on here.

    Attributes:
        reason: stable name of the reason.
        title, say, cure: what to show.
        status: HTTP status that fits.
    """

    def __init__(self, reason: str, *, status: int, title: str, say: str, cure: str) -> None:
        super().__init__(say)
        self.reason = reason
        self.status = status
        self.title = title
        self.say = say
        self.cure = cure


def unknown_study() -> EntryRefusedError:
    return EntryRefusedError(
        "unknown_study",
        status=404,
        title="There is no study here",
        say="The link does not lead to a study.",
        cure="Check that the whole link was copied, or ask whoever gave it to you.",
    )


def not_open() -> EntryRefusedError:
    return EntryRefusedError(
        "study_not_open",
        status=403,
        title="This study is not open",
        say="It takes no new participants at the moment.",
        cure="If you have already started, enter your resume code on the first page, or use the browser you "
        "started with: your work is safe and you can finish it.",
    )


def full(*, may_become_free: bool) -> EntryRefusedError:
    say = "There is nothing left that you could do here."
    cure = "If you came from a panel, return the task there."
    if may_become_free:
        say = "Other people are doing what is still needed."
        cure = "Some places may become free: try again in an hour, or return the task to your panel."
    return EntryRefusedError("study_full", status=409, title="All places are taken", say=say, cure=cure)


RESTING = (
    "None of the chatbots is running at the moment, which the research team can see. Reload this page in a "
    "few minutes."
)


def no_bot() -> EntryRefusedError:
    return EntryRefusedError(
        "no_bot",
        status=503,
        title="The chatbots are having a rest",
        say="None of the chatbots that are still to be talked with is running at the moment.",
        cure="Your place in the study is kept: reload this page in a few minutes. The research team can see "
        "that the chatbots are down.",
    )


def not_started() -> EntryRefusedError:
    return EntryRefusedError(
        "no_session",
        status=401,
        title="We do not know this browser",
        say="Your session is missing or has expired. If you have already started, your work is safe.",
        cure="Open the study link again and enter your resume code, or start from the beginning.",
    )


def started_elsewhere() -> EntryRefusedError:
    return EntryRefusedError(
        "already_started",
        status=409,
        title="You have already started",
        say="Someone with your participant id has started this study in another browser. That work is safe.",
        cure="Go back and enter the resume code that was shown there, or continue in that browser. "
        "If you have neither, ask the research team, who can look the code up.",
    )
