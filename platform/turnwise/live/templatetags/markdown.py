from django import template
from django.utils.safestring import SafeString

from turnwise.live.markdown import as_html

register = template.Library()


@register.filter
def markdown(text: str) -> SafeString:
    """What researchers write for workers to read: formatted, and safe to show."""
    return as_html(text, indented_code=False)
