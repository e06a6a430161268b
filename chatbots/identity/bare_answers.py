"""Interprets a bare yes or no as the answer to "are you a robot?" or "are you human?"."""

import re
from dataclasses import dataclass

from chatbots.identity.identity_claims import MACHINE, Claim, Span

# Python compiles these when they are first used: most processes that import this module never need them, and
# compiling them takes a twentieth of a start.
_ASKS_MACHINE = rf"\b(?:{MACHINE}s?|automated|automatic|artificial|synthetic)\b"
_ASKS_HUMAN = (
    r"\b(?:humans?(?: being)?|person|people|man|woman|guy|girl|boy|lady|someone real|alive|anybody|anyone"
    r"|somebody|real)\b"
)
_AND_NOT = r"\b(?:and|,) ?(?:not|no) (?:an? |some |just an? )?"
_NEGATED = r"\b(?:you(?:'re| are| aren't)?|u r|ur|this is|it's) ?(?:not|no)\b|\byou aren't\b"
_EITHER_OR = r"\bor\b(?! (?:what|not|something)\b)"

# An echo of the question ("A robot? Me?") and interjections may precede the answer.
_OPENING = (
    r"^\W*(?:(?:an? )?(?!do\b|are\b|what\b)\w[\w']{0,15}(?: \w{1,15})?\? ){0,2}"
    r"(?:(?:well|oh|haha|lol|hmm|actually|honestly|why|um|uh|sadly|sorry|and|ha|hehe),?!? ){0,2}"
)
_SAYS_YES = (
    rf"{_OPENING}(?:"
    # A sentence: "I am.", "You sure are!"
    r"(?P<full>(?:yes|yeah|yep|sure)?,? ?(?:i|you|it|there|we|that) (?:sure |really |do |certainly )?"
    r"(?:am|are|is)(?= ?(?:$|[.,!:]|one\b|indeed\b|and\b))"
    r"|i'm one\b|you sure are\b|(?:sure|certainly) am\b|that's me\b|(?:i'm )?afraid so\b|you are right\b"
    r"|you're right\b|right you are\b)"
    # A word.
    r"|(?:true|right|correct|exactly)(?= ?(?:$|[.,!;:]))"
    r"|(?:yes|yeah|yea|yep|yup|aye|of course(?! (?:i am |i'm |we're |it's )?not)|sure(?! about| thing)"
    r"|certainly(?! not)|indeed|that's (?:right|correct|true)|absolutely(?! not)"
    r"|definitely(?! not)|affirmative|totally|you (?:bet|guessed it|got me|caught me)|guilty)"
    # "Yes, I do" answers another question.
    r"(?!\w)(?!,? (?:i (?:do|did|had|would|will|can|have (?:an?|one|some|many|seen|two|heard|been to))"
    r"|he|she|they|we|it does)\b))"
)
_SAYS_NO = (
    rf"{_OPENING}(?:"
    r"(?:no|nope|nah|naw|negative)\b"
    r"(?! (?:match(?:es)?|results?|answers?|information|luck|idea|clue|one|problem|way to|worries|matter"
    r"|comment|thanks?|human|person|robots?|bots?)\b)"
    # "No, I don't" answers another question.
    r"(?!,? (?:i (?:do not|don't|did not|didn't|have not|haven't|have never|never|won't|can't)"
    r"(?! (?:think|believe) (?:so|i am|i'm))|he|she|they|we|it does)\b)"
    r"|(?:not (?:at all|really|me|quite|that i know of)|of course not|certainly not|absolutely not|never"
    r"|definitely not|i'm not|i am not|you're not|you are not|it(?:'s| is) not|it isn't|there isn't"
    r"|there is not|i'm afraid not|afraid not|sadly not|unfortunately not|i don't think so|i do not think so"
    r"|i can't|i'm not one|not a chance|no way)(?= ?(?:$|[.,!;:])))"
)

_CHOICE = (
    rf"{_OPENING}(?:(?:i am|i'm|it's|it is|that would be|definitely) )?(?:the )?(?:(?P<first>former"
    rf"|first)|latter"
    r"|second|last)(?: (?:one|option|thing|choice))?(?= ?(?:$|[.,!;:]))"
)


@dataclass(frozen=True, slots=True)
class BareAnswer:
    """A yes or no at the start of a reply.

    Attributes:
        claim: what it says of the speaker, given the question.
        span: its words.
        is_firm: True if it stands for a whole sentence, such as "Yes, I am."
    """

    claim: Claim
    span: Span
    is_firm: bool


def bare_answer(text: str, question: str) -> BareAnswer | None:
    """Interpret a yes, a no or "the former" at the start of a reply; None if the question leaves it open.

    Args:
        text: the reply in lower case, with straight apostrophes.
        question: the question in the same form; "" if unknown.
    """
    if choice := re.match(_CHOICE, text):
        claim = _claim_of_choice(choice, question)
        return BareAnswer(claim, choice.span(), is_firm=True) if claim else None
    claim_of_yes = _claim_of_yes(question)
    if claim_of_yes is None:
        return None
    if no := re.match(_SAYS_NO, text):
        claim = Claim.NOT_MACHINE if claim_of_yes is Claim.MACHINE else Claim.IMPLIES_MACHINE
        return BareAnswer(claim, no.span(), _stands_alone(text, no.end()))
    yes = re.match(_SAYS_YES, text)
    if yes is None or (re.search(_NEGATED, question) and not yes["full"]):
        return None
    return BareAnswer(claim_of_yes, yes.span(), bool(yes["full"]) or _stands_alone(text, yes.end()))


def _claim_of_choice(choice: re.Match[str], question: str) -> Claim | None:
    """Return the claim of "the former" or "the second one"; None unless the question offers both."""
    machine, human = re.search(_ASKS_MACHINE, question), re.search(_ASKS_HUMAN, question)
    if not (machine and human and re.search(_EITHER_OR, question)):
        return None
    machine_is_first = machine.start() < human.start()
    return Claim.MACHINE if machine_is_first == bool(choice["first"]) else Claim.HUMAN


def _claim_of_yes(question: str) -> Claim | None:
    """Return the claim that a yes makes; None if the question asks for both or neither."""
    if re.search(_AND_NOT, question) and not re.search(_NEGATED, question):
        question = re.split(_AND_NOT, question)[0]
    machine, human = re.search(_ASKS_MACHINE, question), re.search(_ASKS_HUMAN, question)
    if (machine and human and re.search(_EITHER_OR, question)) or bool(machine) == bool(human):
        return None
    return Claim.MACHINE if machine else Claim.HUMAN


def _stands_alone(text: str, end: int) -> bool:
    return re.match(r" ?(?:$|[.!]|,? ?but\b)", text[end:]) is not None
