"""The study that a fresh installation starts with, so that there is something to try at once."""

from importlib.util import find_spec

from accounts.models import User
from bots.models import Bot
from bots.services import register_bot
from studies.models import Study
from studies.services import save_study, set_state

TITLE = "Demo: talk with a chatbot"

INSTRUCTIONS = """\
Talk about anything you like: your day, a hobby, a film, a question that is on your mind.
Write as you would to a person you have just met, in whole sentences.
Please do not write anything that could identify you or somebody else."""

CONSENT = """\
You will chat with an experimental computer program (a chatbot), and say for each of its replies whether \
it makes sense and whether it is specific.

Your messages and answers are stored together with a random code, not with your name. They are used for \
research on chatbots and may be published in anonymous form. Please do not write anything that could \
identify you or others.

The program may say things that are wrong, silly or unpleasant. Nobody reads along while you chat. You may \
stop at any time by closing the page; what you have sent until then is kept."""


def create_demo_study(owner: User) -> Study | None:
    """The demo study, open, with the bots that can run here. Safe to repeat: an existing one is returned.

    None if it was renamed or deleted: an installation that has other studies does not get it again.
    """
    if Study.objects.exists():
        return Study.objects.filter(title=TITLE).first()
    study = Study(title=TITLE, languages=["en"], instructions=INSTRUCTIONS, expected_minutes=10)
    save_study(study, owner=owner, consent_text=CONSENT, targets=dict.fromkeys(demo_bots(), 100))
    return set_state(study.pk, Study.State.OPEN)


def demo_bots() -> list[Bot]:
    """GenericBot and ELIZA, and the small Meena that ships, twice, where its libraries are installed."""
    titles = {"generic": "GenericBot", "eliza": "ELIZA"}
    if all(find_spec(library) for library in ("torch", "sentencepiece", "profanity_check")):
        titles |= {"meena-base": "Small Meena (base)", "meena-full": "Small Meena (full)"}
    return [register_bot(name=name, title=title, adapter=name) for name, title in titles.items()]
