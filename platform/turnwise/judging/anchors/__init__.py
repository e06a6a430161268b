"""Anchor packs: made from a study or a file, mixed into queues, and compared with new judgments."""
