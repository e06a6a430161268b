"""What can be stored of a text that somebody wrote: the one rule for messages, replies, files and forms."""

MAX_TEXT = 4000
"""Characters of a turn or a response."""


def cleaned(text: str) -> str:
    """The text without what no database can hold: null characters and halves of surrogate pairs."""
    return text.encode(errors="ignore").decode().replace("\x00", "").strip()
