"""A probabilistic grammar of the question "are you a robot?", and of texts that only resemble it."""
