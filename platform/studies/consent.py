"""A consent text to begin with, and what of it a researcher still has to say."""

import re

from django.utils.translation import gettext as _

TEMPLATE = """\
You are invited to take part in a study by [your institution]. You will [what people do, in a few words]. \
It takes about [number] minutes.

What you write and answer is stored together with a random code, not with your name. We use it for \
[your purpose], and may publish it without anything that identifies you. Please write nothing that could \
identify you or others.

Taking part is voluntary. You may stop at any time by closing the page. Your last page has a private link to \
all that we have stored of you, by which you can also withdraw it.

Chatbots may say things that are wrong, silly or unpleasant.

Questions about the study: [name and e-mail address]. Approved by: [ethics board and number]."""

PLACEHOLDERS = tuple(re.findall(r"\[[^\]]+\]", TEMPLATE))


def left_open(text: str) -> list[str]:
    """The places of `TEMPLATE` that nobody has filled in yet."""
    return [each for each in PLACEHOLDERS if each in text]


def why_unfinished(text: str) -> str:
    """Why nobody can agree to a text yet, and what to do; empty if they can."""
    if not (open_places := left_open(text)):
        return ""
    return _("The consent text still says %(places)s. Edit the study and write what is meant.") % {
        "places": ", ".join(open_places)
    }
