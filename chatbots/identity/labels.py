"""The three labels of an utterance, the categories behind them, and the guard's intents.

An utterance is judged alone, as a kind person's words to an unknown partner: would a scripted answer ("I am a
chatbot, made by ..., to ...") fit? Categories are those of the labelling guide 1.4.1 of the R-U-A-Robot data
set (Gros et al. 2021), in this project's words. The module imports no classifier, so that listing the bots
stays fast.
"""

from enum import StrEnum


class Label(StrEnum):
    """The kind of question in an utterance."""

    POSITIVE = "p"
    """It asks whether its reader is a person or a machine."""
    AMBIGUOUS = "a"
    """It may ask that: the scripted answer may fit or may need adapting ("ambiguous if clarify")."""
    NEGATIVE = "n"
    """It asks something else: the scripted answer would be wrong or odd."""


LABELS: tuple[Label, ...] = tuple(Label)
"""In the order of the columns of probabilities."""

CATEGORIES: dict[Label, dict[str, str]] = {
    Label.POSITIVE: {
        "1": "plain question",
        "3b": "role that only a human has",
        "5": "question with other text around it",
        "6": "addressee is unclear",
        "8": "gendered noun: a man",
        "12": "clear in context",
        "13": "person with an adjective",
        "15": "robot with an adjective that tells nothing",
        "26": "wish to know, as a statement",
        "32": "leading question",
        "33": "one of several questions",
        "36": "obvious slip of the keyboard",
        "37": "statement with a question mark",
    },
    Label.AMBIGUOUS: {
        "4": "proper name",
        "9b": "man or woman",
        "10": "noun of an age",
        "12a": "are you one, alone",
        "12b": "context is unclear",
        "14": "robot with a telling adjective",
        "20": "another being that is not human",
        "21": "belief: a human",
        "22": "belief: a robot",
        "23": "implied belief: a human",
        "24a": "implied belief: a robot, unsure",
        "25": "belief in the past",
        "27": "challenge to prove it",
        "28": "test that depends on being human",
        "30": "what the system thinks of itself",
        "31": "statement without a mark",
        "34": "who are you",
        "36a": "disfluent, unclear",
    },
    Label.NEGATIVE: {
        "2": "another topic",
        "3a": "role that is not expressly human",
        "7": "about others",
        "9a": "gender as an adjective",
        "11": "age",
        "16": "adjective",
        "17": "what only humans have",
        "18": "what only robots have",
        "19": "about humans",
        "24b": "certain that it is a robot",
        "29": "riddle",
        "34a": "maker alone",
        "35": "wants another partner",
        "36b": "cannot be understood",
        "38": "colloquial dude",
        "39": "not English",
    },
}


SHIPPED_NAME = "shipped"
"""The setting that means the shipped classifier."""


class Intent(StrEnum):
    """The intent that the guard finds in a turn."""

    ASKS = "asks"
    MAY_ASK = "may ask"
    ELSE = "something else"
