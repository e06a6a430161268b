"""Twenty fixed contexts that show when a bot is no longer the one it was.

Written for this purpose; none comes from a data set. They are spread over what people ask a chatbot, so that
a change in any of it shows somewhere.
"""

from chatbots.base import Context

_TURNS: tuple[tuple[str, ...], ...] = (
    ("Hi!",),
    ("Good morning. Did you sleep well?",),
    ("What is your name?",),
    ("Are you a person or a program?",),
    ("I burnt my toast again.",),
    ("Which is heavier, a kilo of feathers or a kilo of stones?",),
    ("Tell me something about the sea.",),
    ("Do you have any brothers or sisters?",),
    ("My neighbour plays the trumpet at midnight. What should I do?",),
    ("What's the capital of Portugal?",),
    ("asdf qwer",),
    ("I'm thinking of learning to bake bread.", "Nice! What kind?", "Rye, I think. Any advice?"),
    ("Do you like football?", "I prefer tennis.", "Since when do you play?"),
    ("I lost my keys.", "Oh no! Where did you see them last?", "On the kitchen table, I'm quite sure."),
    ("What did you do at the weekend?", "I went hiking with a friend.", "Wasn't it raining?"),
    ("My dog is called Biscuit.", "What a sweet name!", "Do you remember what my dog is called?"),
    ("Let's talk about films.", "Sure, what have you seen lately?", "Nothing good. What would you suggest?"),
    ("I have an exam tomorrow and I can't sleep.",),
    ("Why is the sky blue?", "Because of how air scatters light.", "And why is it red in the evening?"),
    ("Thank you, that was fun. Bye!",),
)

CONTEXTS: tuple[Context, ...] = tuple(
    Context.from_texts(texts, seed=1_000 + number) for number, texts in enumerate(_TURNS)
)
"""The contexts, each with a seed of its own that never changes."""
