"""Icons of static/vendor/icons.svg, and navigation links with an icon."""

from django import template
from django.template.context import Context
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def icon(name: str) -> SafeString:
    """Render an icon, hidden from screen readers because the words beside it say the same."""
    address = f"{static('vendor/icons.svg')}#{name}"
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}"></use></svg>', address)


@register.simple_tag(takes_context=True)
def page_link(context: Context, view: str, picture: str, words: str, *, below: object = None) -> SafeString:
    """Render a navigation link, marked as current on its page, on pages below it, or if `below` is true."""
    address = reverse(view)
    request = context.get("request")
    here = bool(below) or (request is not None and request.path.startswith(address))
    mark = SafeString(' aria-current="true"' if here else "")
    return format_html('<a href="{}"{}>{}{}</a>', address, mark, icon(picture), words)
