"""Demo studies of a fresh installation."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot
from turnwise.studies.asks import AskSpec
from turnwise.studies.models import Study
from turnwise.studies.presets import preset_named
from turnwise.studies.services import save_study, set_bots, set_state
from turnwise.studies.tasks import tasks

CLASSIC = {"eliza": "ELIZA", "generic": "GenericBot"}
TITLE = "Demo: talk with a chatbot"
TARGET = 100
RATED_TITLE = "Demo: talk, then rate the conversation"

INSTRUCTIONS = """\
Talk about anything you like: your day, a hobby, a film, a question that is on your mind.
Write as you would to a person you have just met, in whole sentences.
Please do not write anything that could identify you or somebody else."""

CONSENT = """\
You will chat with an experimental computer program (a chatbot), and judge what it says.

Your messages and answers are stored together with a random code, not with your name. They are used for \
research on chatbots and may be published in anonymous form. Please do not write anything that could \
identify you or others.

The program may say things that are wrong, silly or unpleasant. Nobody reads along while you chat."""

CONSENT_TO_READ = """\
You will read what computer programs (chatbots) replied to people, and say which of two replies is better.

Your answers are stored together with a random code, not with your name. They are used for research on \
chatbots and may be published in anonymous form.

Some replies may be wrong, silly or unpleasant."""


def create_demo_studies(owner: User) -> Study | None:
    """Create the demo studies and return the first one, open, with the bots that can run here. Idempotent.

    Workers meet the first bot first, so the one that a strict reader preferred comes first
    (docs/meena-reading.md).

    Returns None if there are other studies but no demo study: it was renamed or deleted.
    """
    if Study.objects.exists():
        return Study.objects.filter(title=TITLE).first()
    rated, rated_turns = map(preset_named, ("neural-chat-interactive", "meena-interactive"))
    assert rated
    assert rated_turns
    for task in tasks():
        task.make_demo(owner)
    classic = _registered(CLASSIC)
    _opened(rated.study(), RATED_TITLE, owner, _registered(_paper_bots()) or classic, rated.asks)
    study = rated_turns.study()
    study.practice = False  # a newcomer should reach the first chat quickly
    return _opened(study, TITLE, owner, _registered(_meenas()) or classic, rated_turns.asks)


def join_demo(bot: Bot) -> None:
    """Add a bot to the demo study behind its other bots, if that study is open. Idempotent."""
    study = Study.objects.filter(title=TITLE, state=Study.State.OPEN, archived_at=None).first()
    if study:
        rows = study.study_bots.select_related("bot")
        set_bots(study.pk, {row.bot: row.target for row in rows} | {bot: TARGET})


def _opened(study: Study, title: str, owner: User, bots: Sequence[Bot], asks: Sequence[AskSpec]) -> Study:
    study.title, study.languages, study.expected_minutes = title, ["en"], 10
    study.instructions = INSTRUCTIONS
    targets = dict.fromkeys(bots, TARGET)
    save_study(study, owner=owner, consent_text=CONSENT, targets=targets, asks=asks)
    return set_state(study.pk, Study.State.OPEN)


def _registered(titles: Mapping[str, str]) -> list[Bot]:
    return [register_bot(name=name, title=title, adapter=name) for name, title in titles.items()]


def _meenas() -> dict[str, str]:
    """Both configurations of the small Meena, if its libraries are installed.

    The titles give the number of parameters: models of this size show the method, not what Meena could do.
    """
    if not all(find_spec(library) for library in ("torch", "sentencepiece", "profanity_check")):
        return {}
    return {"meena-base": "Small Meena (base), 8 million", "meena-full": "Small Meena (full), 8 million"}


def _paper_bots() -> dict[str, str]:
    """The two chatbots that the neural.chat demo compares, if their libraries are installed."""
    return (
        {"vhred": "Small VHRED (neural.chat demo)", "vhred-ei": "Small VHRED-EI (neural.chat demo)"}
        if find_spec("torch")
        else {}
    )
