"""Rules of the Reddit corpus of Ghandeharioun et al. 2019, appendix A.6, applied before any filter.

The paper keeps a message without its links, drops removed and deleted messages, and keeps a text up to the
word "edit". Here "edit" must announce a later addition ("EDIT: thanks!"), so that "I edit videos" stays.
"""

import re

from chatbots.meena.corpus.reading import Message, Tree

_MARKDOWN_LINK = re.compile(r"\[([^\[\]]{0,300})\]\((?:https?://|www\.|/)[^()\s]{0,2000}\)", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:https?://|\bwww\.)\S{1,2000}", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"\s*\[\s*(?:removed|deleted)[^\]]{0,40}\]\s*", re.IGNORECASE)
_LATER_ADDITION = re.compile(
    r"(?:^|(?<=[.!?)\]\s]))[\s(\[*_~]{0,4}edit(?:ed)?"
    r"(?:[ #]?\d{1,2}\s?[:;,\u2013\u2014-]|[*_]{0,2}\s?[:;]).*",
    re.IGNORECASE | re.DOTALL,
)
_SPACES = re.compile(r"[ \t]{2,}")


def cleaned_text(text: str) -> str:
    """Apply the rules to a message.

    Returns:
        The text without links and later additions; "" if the message was removed or deleted, or if nothing is
        left of it.
    """
    if _IN_BRACKETS.fullmatch(text):
        return ""
    text = _ADDRESS.sub(" ", _MARKDOWN_LINK.sub(r"\1", text))
    return _SPACES.sub(" ", _LATER_ADDITION.sub("", text)).strip()


def cleaned_tree(tree: Tree) -> Tree:
    """Apply the rules to all messages of a tree; a message without text ends its conversation later on."""
    return Tree(tree.key, [_cleaned(message) for message in tree.messages])


def _cleaned(message: Message) -> Message:
    return message._replace(text=cleaned_text(message.text))
