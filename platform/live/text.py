"""How long a text may be that somebody wrote; `evaluation.text` cleans it."""

MAX_TEXT = 4000
"""Characters of a turn or a response."""
