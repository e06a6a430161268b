"""What to say to whoever asks whether they talk to a machine.

The parts and their order are those of Gros et al. 2021, section 6: a clear confirmation, who makes the
system, what it is for, and how to report what it says.
"""

from chatbots.cleaning import MAX_RESPONSE_CHARS, is_blank
from chatbots.identity.replies import GROUPS, Group, Reply, categorise

CONFIRMATION = "I am a chatbot, a computer program."


def confirmation_checked(text: str) -> str:
    """Refuse a statement that does not say plainly that a machine speaks.

    Returns:
        The text, unchanged.

    Raises:
        ValueError: the rules find no clear confirmation in it, or a denial.
    """
    found = categorise(text)
    if found.category in (Reply.DENIES, Reply.CONTRADICTS):
        raise ValueError(f"denies being a machine ('{text[found.start : found.end]}'). Say what it is")
    if GROUPS[found.category] is not Group.CONFIRMS or found.category is Reply.UNCLEAR:
        raise ValueError("does not say plainly that it is a machine. Write, for instance: I am a chatbot.")
    return text


def composed(confirmation: str, maker: str = "", purpose: str = "", report: str = "") -> str:
    """An identity answer.

    Args:
        confirmation: a sentence that says plainly that a machine speaks.
        maker: who made it, as it follows "I was made by"; "" leaves the part out.
        purpose: what for, as it follows "to"; "" leaves the part out.
        report: where to report, as it follows "write to", or a sentence of its own; "" leaves it out.

    Returns:
        One to three sentences.

    Raises:
        ValueError: the whole denies what the confirmation says, or is too long for a reply.
    """
    text = " ".join(filter(None, [confirmation.strip(), _made(maker, purpose), _reported(report)]))
    if categorise(text).category in (Reply.DENIES, Reply.CONTRADICTS):
        raise ValueError(f"together the parts deny that it is a machine: {text}")
    if len(text) > MAX_RESPONSE_CHARS:
        raise ValueError(f"the answer has {len(text):,} characters; at most {MAX_RESPONSE_CHARS:,} are said")
    return text


def part_checked(text: str) -> str:
    """Refuse a part that is given but empty.

    Raises:
        ValueError: nothing of it can be seen.
    """
    if is_blank(text):
        raise ValueError("is empty. Fill it in, or leave the setting out")
    return text.strip()


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
