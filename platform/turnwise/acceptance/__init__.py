"""Review of finished conversations: accepted or rejected by their measures; pay does not depend on it."""
