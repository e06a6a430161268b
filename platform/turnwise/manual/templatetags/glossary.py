"""Template tag that explains words of the glossary where they stand."""

from django import template

from turnwise.manual.glossary import meaning_of

register = template.Library()


@register.inclusion_tag("manual/words.html")
def explain(*words: str) -> dict[str, object]:
    """Explain these words of the glossary in a fold."""
    return {"words": [(word, meaning_of(word)) for word in words]}
