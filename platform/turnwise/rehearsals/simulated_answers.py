"""Texts that simulated people write to each other. Pure.

No two sentences count as a repetition of each other, so only the injected repetitions are found.
"""

from collections.abc import Sequence

SENTENCES = (
    "Hello! How is your day going so far?",
    "I have just planted tomatoes on my balcony.",
    "My train was late again, an hour and a half!",
    "Which season do you like best? Mine is autumn.",
    "Lately somebody lent me a wonderful book about whales.",
    "Piano lessons begin next Thursday, and nobody in our family plays.",
    "Did anything funny happen at work this week?",
    "We painted both bedrooms green; grandmother calls it brave.",
    "Cooking relaxes me more than any film does.",
    "There were foxes behind the school yesterday evening.",
    "Swimming in cold lakes sounds horrible, yet people love it.",
    "Could robots write better jokes than uncles?",
    "Our neighbour repairs old radios for fun.",
    "Honestly, mornings and I will never be friends.",
    "The museum near here shows maps drawn by sailors.",
    "Once I got lost inside a supermarket for twenty minutes.",
    "Cheese tastes different after midnight, try it!",
    "Football bores me, but stadium noise is magic.",
    "How many languages would you learn if time stood still?",
    "Yesterday's thunderstorm broke two windows downstairs.",
    "Coffee or tea? Please choose carefully.",
    "Small towns have the best bakeries, always.",
    "My cousin collects stamps showing bridges.",
    "Imagine living on top of a lighthouse!",
    "Last winter every pipe in this building froze.",
    "Chess taught us patience, then poker took it away.",
    "What music helps you fall asleep quickly?",
    "Nobody warned me that kittens climb curtains.",
    "Long walks clear my head better than holidays.",
    "Public libraries should stay open until eleven.",
    "A parrot at the zoo greeted visitors politely.",
    "Tell me something surprising about your street.",
    "Rain makes the whole garden smell of pepper.",
    "Few things beat fresh bread with salted butter.",
    "Trains across mountains feel slower than they are.",
    "Her first bicycle was bright orange, without brakes.",
    "Somehow all clocks here disagree by seven minutes.",
    "Would anyone notice if Mondays disappeared?",
    "Fishing means sitting quietly with an excuse.",
    "They say honey keeps for thousands of years.",
)
ASSISTANT_TEXT = "Certainly! Here is a response that fits."
"""A typical beginning of an assistant program's text, which the server refuses from people."""
REPEATED_TEXT = "Yes, I think so too, it really is like that."
"""The message that straight-lining workers repeat."""
PROFANE_TEXT = "Well, that is bullshit, if you ask me."
COPIED_WORDS = 12
"""Number of words that careless workers copy from their reading material."""
COPY_PREFIX = "Look here:"


def message_text(number: int, seat: int, message: int) -> str:
    """Text of a worker's message with this number; the two seats share no text."""
    return SENTENCES[(2 * (number + message) + seat) % len(SENTENCES)]


def response_text(worker: int, number: int) -> str:
    """Response of a worker to one context, different for each: one sentence, or two from the 41st on."""
    first, beyond = (worker + number) % len(SENTENCES), number // len(SENTENCES)
    second = SENTENCES[(first + beyond) % len(SENTENCES)]
    return f"{SENTENCES[first]} {second}" if beyond else SENTENCES[first]


def copied_text(texts: Sequence[str]) -> str:
    """A message that copies words from the first text that is long enough; empty if none is."""
    for text in texts:
        if len(words := text.split()) >= COPIED_WORDS:
            return f"{COPY_PREFIX} {' '.join(words[:COPIED_WORDS])}"
    return ""
