"""Running studies: pauses, messages, time limits, lobby, status of open pages and costs."""
