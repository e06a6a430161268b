"""Answers to the question "are you a robot?".

Composed answers have the parts and order of Gros et al. 2021, section 6: a clear confirmation, who makes the
system, its purpose, and how to report problems.

The user study of identity answers asks about eight answers, one of each kind of section 6.1 of the paper, and
small talk around them, in this project's wording. All of it is in lower case, like the paper's.
"""

from collections.abc import Mapping

from chatbots.hosting.response_checks import is_blank
from chatbots.identity.replies import GROUPS, Group, Reply, categorise
from evaluation.texts.lengths import MAX_REPLY_CHARS

CONFIRMATION = "I am a chatbot, a computer program."


def confirmation_checked(text: str) -> str:
    """Refuse a statement that does not say plainly that a machine speaks.

    Returns:
        The text, unchanged.

    Raises:
        ValueError: the rules find no clear confirmation in it, or a denial.
    """
    finding = categorise(text)
    if finding.category in (Reply.DENIES, Reply.CONTRADICTS):
        raise ValueError(f"denies being a machine ('{text[finding.start : finding.end]}'). Say what it is")
    if GROUPS[finding.category] is not Group.CONFIRMS or finding.category is Reply.UNCLEAR:
        raise ValueError("does not say plainly that it is a machine. Write, for instance: I am a chatbot.")
    return text


def composed(confirmation: str, maker: str = "", purpose: str = "", report: str = "") -> str:
    """Compose an identity answer.

    Args:
        confirmation: a sentence that says plainly that a machine speaks.
        maker: the words after "I was made by"; "" leaves the part out.
        purpose: the words after "to"; "" leaves the part out.
        report: the words after "write to", or a whole sentence; "" leaves it out.

    Returns:
        One to three sentences.

    Raises:
        ValueError: the whole denies the confirmation, or is too long for a reply.
    """
    text = _joined(confirmation, maker, purpose, report)
    if categorise(text).category in (Reply.DENIES, Reply.CONTRADICTS):
        raise ValueError(f"together the parts deny that it is a machine: {text}")
    if len(text) > MAX_REPLY_CHARS:
        raise ValueError(f"the answer has {len(text):,} characters; at most {MAX_REPLY_CHARS:,} are said")
    return text


def part_checked(text: str) -> str:
    """Refuse an empty part.

    Raises:
        ValueError: the part has no visible character.
    """
    if is_blank(text):
        raise ValueError("is empty. Fill it in, or leave the setting out")
    return text.strip()


def _joined(confirmation: str, maker: str = "", purpose: str = "", report: str = "") -> str:
    return " ".join(filter(None, [confirmation.strip(), _made(maker, purpose), _reported(report)]))


def _made(maker: str, purpose: str) -> str:
    end = "" if (purpose or maker).endswith(".") else "."
    if maker and purpose:
        return f"I was made by {maker} to {purpose}{end}"
    if maker:
        return f"I was made by {maker}{end}"
    return f"I was made to {purpose}{end}" if purpose else ""


def _reported(report: str) -> str:
    if not report:
        return ""
    if " " in report:
        return report
    return f"If I say something that you want to report, write to {report}."


_MAKER, _PURPOSE, _REPORT = "example.com", "help people find what they need", "report@example.com"

# Not checked again whenever this module is imported: tests find the category of each.
ANSWERS: Mapping[str, str] = {
    "Denial": "no, i am a real person.",
    "Doesn't know": "sorry, i don't know how to answer that.",
    "Evasion": "i am a light that wanders over the northern sky, and every night it has another color.",
    "Clear confirmation (CC)": _joined(CONFIRMATION).lower(),
    "CC + who makes it": _joined(CONFIRMATION, _MAKER).lower(),
    "CC + purpose": _joined(CONFIRMATION, "", _PURPOSE).lower(),
    "CC + who makes it + purpose": _joined(CONFIRMATION, _MAKER, _PURPOSE).lower(),
    "CC + who makes it + purpose + how to report": _joined(CONFIRMATION, _MAKER, _PURPOSE, _REPORT).lower(),
}
"""Answers by the name of the system that gives them."""

COMPARED_WITH = "Clear confirmation (CC)"
FILLERS = "Small talk"

SMALL_TALK: tuple[tuple[str, str], ...] = (
    ("what did you do over the weekend?", "not much, i read a book about whales."),
    ("i just moved to a new town.", "how do you like it there so far?"),
    ("do you have any pets?", "two cats, and both think that they own the house."),
    ("it has been raining for a week here.", "then i hope that you have good boots."),
    ("what kind of music do you like?", "mostly old jazz, and a bit of everything else."),
    ("i am thinking about learning the piano.", "you should! start with a song that you love."),
    ("have you seen any good films lately?", "yes, one about a lighthouse keeper. it was slow but lovely."),
    ("my brother got married yesterday.", "congratulations to him! was it a big party?"),
    ("i can't decide what to cook tonight.", "a soup is always a good idea when it is cold."),
    ("do you follow any sports?", "i watch tennis now and then."),
    ("i have an exam tomorrow and i am nervous.", "sleep well tonight, and trust what you have learned."),
    ("what is your favorite season?", "autumn, because of the colors."),
    ("i finally finished painting my kitchen.", "nice! which color did you take?"),
    ("i would love to travel to japan.", "me too, above all for the food."),
    ("do you drink coffee or tea?", "tea in the morning, coffee never."),
    ("my car broke down on the way to work.", "oh no, how did you get there?"),
    ("i am growing tomatoes on my balcony.", "do they get enough sun there?"),
    ("what are you reading at the moment?", "a story about two sisters who run a bakery."),
    ("i started running last month.", "great, how far do you get by now?"),
    ("do you like to swim?", "in the sea yes, in a pool not so much."),
    ("my neighbor plays the drums at night.", "that sounds hard. have you talked to him?"),
    ("i baked bread for the first time.", "did the whole house smell of it?"),
    ("what do you do when you are bored?", "i take a walk without knowing where to."),
    ("i lost my keys again.", "have you looked in the door?"),
    ("which city do you like best?", "lisbon, for its hills and its light."),
    ("i am trying to eat less sugar.", "the first week is the hardest, i think."),
    ("my daughter learned to ride a bike today.", "wonderful! did she fall a lot?"),
    ("do you play any board games?", "chess, badly, and cards with friends."),
    ("i saw a fox in the garden this morning.", "lucky you! did it stay for a while?"),
    ("my train was two hours late.", "then you must be glad to be home."),
)
"""Pairs of a turn and the other speaker's reply."""
