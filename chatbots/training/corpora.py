"""What every corpus that models are trained on has in common."""


class CorpusError(ValueError):
    """The input cannot become a corpus, or a file is none; the message says why and what to do."""
