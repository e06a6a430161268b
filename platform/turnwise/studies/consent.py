"""Templates of consent texts, and checks that their placeholders are filled in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

# Facts of the platform, which every template states in the same words.
_STORED = """\
What you write and answer is stored together with a random code, not with your name. Please write nothing \
that could identify you or others."""
_VOLUNTARY = """\
Taking part is voluntary. A private link shows you all that we have stored of you, and there you can also \
withdraw it."""
_CHATBOTS = "Chatbots may say things that are wrong, silly or unpleasant."


@dataclass(frozen=True, slots=True)
class ConsentTemplate:
    """A template of a consent text, in Markdown.

    Attributes:
        key: in the form.
        title: for which studies.
        text: what people agree to.
        debriefing: text for the last page; empty: none.
    """

    key: str
    title: str | Promise
    text: str
    debriefing: str = ""


BOARD = ConsentTemplate(
    "board",
    gettext_lazy("University ethics board"),
    f"""\
You are invited to take part in a study by [your institution]. You will [what people do, in a few words]. \
It takes about [number] minutes.

{_STORED} We use it for [your purpose], and may publish it without anything that identifies you.

{_VOLUNTARY}

{_CHATBOTS}

Questions about the study: [name and e-mail address]. Approved by: [ethics board and number].""",
)
GDPR = ConsentTemplate(
    "gdpr",
    gettext_lazy("GDPR, in the EU"),
    f"""\
You are invited to take part in a study by [your institution]. You will [what people do, in a few words]. \
It takes about [number] minutes.

**Who is responsible.** [name and address of the controller]; data protection officer: \
[name and e-mail address of the officer].

**What is stored, and what for.** {_STORED} If you came from a panel, its id for you is stored apart from \
that, so that you can be paid. We also store a code made from your network address with a secret key, and \
later one made from that id: they show whether somebody takes part twice. We use the data for \
[your purpose]. The legal basis is your consent (Article 6(1)(a) GDPR).

**Who sees it.** The research team and [services that process the data, or nobody else]. Data without ids \
may be published and kept without end. The data are stored in [country]; your panel id is erased after \
[number of days] days.

**Your rights.** {_VOLUNTARY} That does not make unlawful what was done before. You may ask to see, correct, \
erase, restrict or receive your data, and you may complain to [supervisory authority].

{_CHATBOTS}

Questions about the study: [name and e-mail address].""",
)
SHORT = ConsentTemplate(
    "short",
    gettext_lazy("Short, for anonymous work"),
    f"""\
In this study by [your institution] you will [what people do, in a few words]: about [number] minutes.

- {_STORED}
- We may publish it.
- A private link shows you what is stored, and there you can withdraw it.
- {_CHATBOTS}

Questions: [name and e-mail address].""",
)
DECEPTION = ConsentTemplate(
    "deception",
    gettext_lazy("With deception, told afterwards: “Are you a robot?”, Wizard of Oz"),
    f"""\
You are invited to take part in a study by [your institution]. You will [what people do, in a few words]. \
It takes about [number] minutes.

**We cannot tell you everything about this study before you take part**, as that could change how you \
answer. At the end you are told what it is about and what was kept from you. You can then still \
withdraw all that is stored of you, without giving a reason and without losing your pay.

{_STORED} We use it for [your purpose, as far as it can be told], and may publish it without anything that \
identifies you.

{_VOLUNTARY}

What you read may be wrong, silly or unpleasant.

Questions about the study: [name and e-mail address]. Approved by: [ethics board and number].""",
    """\
Before you began, we did not tell you that [what was kept from people, such as: a person answered in place \
of the chatbot]. We kept it from you because [why it could not be told before].

You may withdraw all that is stored of you: by the private link on this page, without giving a reason, and \
you keep your pay. If anything in this study troubled you, please write to [name and e-mail address].""",
)

TEMPLATES = (BOARD, GDPR, SHORT, DECEPTION)
TEMPLATE = BOARD.text
"""Consent text of a new study."""

_PLACEHOLDER = re.compile(r"\[[^\]]+\]")
PLACEHOLDERS = tuple(
    dict.fromkeys(
        found
        for each in TEMPLATES
        for text in (each.text, each.debriefing)
        for found in _PLACEHOLDER.findall(text)
    )
)


def for_script() -> Mapping[str, Mapping[str, str]]:
    """Texts by template key, for the page where one is chosen (static/js/consent.js)."""
    return {each.key: {"consent": each.text, "debriefing": each.debriefing} for each in TEMPLATES}


def unfilled_placeholders(text: str) -> list[str]:
    """Placeholders of any template that are not filled in yet, in the order of the text."""
    return sorted((each for each in PLACEHOLDERS if each in text), key=text.index)


def why_unfinished(text: str) -> str:
    """Explain why a consent text is unfinished, and what to do; empty if it is finished."""
    if not (unfilled := unfilled_placeholders(text)):
        return ""
    return _("The consent text still says %(unfilled)s. Edit the study and write what is meant.") % {
        "unfilled": ", ".join(unfilled)
    }


def why_contact_missing() -> str:
    """Explain that a study that pays needs an address for questions, and what to do."""
    return _("Workers are paid, and the study names no address to which they can write. Add one.")


def why_debriefing_unfinished(text: str) -> str:
    """Explain why a debriefing is unfinished, and what to do; empty if it is finished."""
    if not (unfilled := unfilled_placeholders(text)):
        return ""
    return _("The debriefing still says %(unfilled)s. Edit the study and write what is meant.") % {
        "unfilled": ", ".join(unfilled)
    }
