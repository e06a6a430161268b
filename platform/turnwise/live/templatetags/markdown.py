from django import template
from django.utils.safestring import SafeString

from turnwise.live.markdown import as_html

register = template.Library()


@register.filter
def markdown(text: str) -> SafeString:
    """Format a researcher's Markdown as safe HTML for workers."""
    return as_html(text, indented_code=False)
