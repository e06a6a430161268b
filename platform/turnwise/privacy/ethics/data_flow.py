"""Flow of participants' data: where they go, who can see them, and how long they are kept."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import AnonymousUser
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.queries import masked_settings, visible_bots
from turnwise.crowd.panels import panel_of
from turnwise.privacy.ethics.blocks import Block, Kind
from turnwise.studies.models import Study
from turnwise.studies.sharing.permissions import readers_of
from turnwise.studies.tasks import task_of


def _fact(term: str, text: str) -> Block:
    return Block(Kind.FACT, text, term)


def data_flow(study: Study, reader: User | AnonymousUser) -> Iterator[Block]:
    """Steps of the data, from the browser to publications."""
    yield _fact(
        _("In the browser"),
        _(
            "One signed cookie recognises the participant in this study. No scripts, fonts or trackers of "
            "other sites are loaded. Unsaved work stays in the browser until it is saved."
        ),
    )
    yield _fact(
        _("On the server of this installation"),
        _(
            "Texts, answers and times are stored under a random pseudonym, which differs in every study. "
            "The panel ID, the submission and a code made from the network address with a secret key are "
            "stored beside it, to pay people and to notice that somebody takes part twice. The platform asks "
            "for no name."
        ),
    )
    if study.notes_typing:
        yield _fact(
            _("Typing"),
            _(
                "For each message, the number of pasted characters and the seconds of typing are stored; "
                "never which keys are pressed. Participants read this before they agree."
            ),
        )
    yield from _services(study, reader)
    panels = [str(panel_of(each).title) for each in study.panels.all()]
    if panels:
        yield _fact(
            _("To the panel"),
            _("%(panels)s: how the participation ended and what is paid; no texts and no answers.")
            % {"panels": ", ".join(panels)},
        )
    yield _fact(_("Who can see them"), _readers(study))
    yield _fact(
        _("In files and publications"),
        _(
            "People who judge conversations or responses in another study see the texts alone. "
            "Files of the study hold pseudonyms, texts and answers, and no IDs. Before texts are passed on, "
            "the research team can replace personal data that participants wrote about themselves."
        ),
    )


def _services(study: Study, reader: User | AnonymousUser) -> Iterator[Block]:
    """Services outside the installation that get the text of conversations."""
    bots = task_of(study).bots_to_try(study)
    if not bots:
        return
    visible = set(visible_bots(reader).filter(pk__in=[each.pk for each in bots]).values_list("pk", flat=True))
    outside = [service for bot in bots if (service := _service_of(bot, is_visible=bot.pk in visible))]
    none = _("None: the chatbots of this study run on machines of this installation.")
    yield _fact(_("To services of others"), " ".join(outside) or none)


def _service_of(bot: Bot, *, is_visible: bool) -> str:
    """Sentence about the services to which a bot sends conversations; empty if there is none."""
    if bot.is_operated:
        return _("%(bot)s: a person reads what participants write, and answers.") % {"bot": bot.title}
    hosts = sorted(set(_hosts(masked_settings(bot))))
    if not hosts:
        return ""
    if not is_visible:
        hosts = [_("a service that the owner of the bot can name")]
    return _(
        "%(bot)s sends the text of the conversation to %(hosts)s, without any ID of the participant."
    ) % {
        "bot": bot.title,
        "hosts": ", ".join(hosts),
    }


def _hosts(settings: Any) -> Iterator[str]:
    """Hosts of all addresses in a bot's settings, at any depth."""
    if isinstance(settings, Mapping):
        for each in settings.values():
            yield from _hosts(each)
    elif isinstance(settings, list):
        for each in settings:
            yield from _hosts(each)
    elif isinstance(settings, str) and settings.startswith(("http://", "https://")):
        yield urlsplit(settings).hostname or settings


def _readers(study: Study) -> str:
    others = readers_of(study).count()
    shared = ngettext(
        "and %(n)d person with whom it is shared", "and %(n)d people with whom it is shared", others
    )
    readers = {"shared": shared % {"n": others}} if others else {}
    if others:
        return _("The owner of the study %(shared)s, and the administrators of the installation.") % readers
    return _("The owner of the study and the administrators of the installation.")


def retention(study: Study) -> Iterator[Block]:
    """Periods after which data can no longer be withdrawn, or are erased."""
    days = study.withdrawal_days
    yield _fact(
        _("Withdrawal"),
        ngettext(
            "Until %(days)d day after the end of their part, participants can withdraw everything by a "
            "private link, without giving a reason. Later the research team can do it at their request.",
            "Until %(days)d days after the end of their part, participants can withdraw everything by a "
            "private link, without giving a reason. Later the research team can do it at their request.",
            days,
        )
        % {"days": days},
    )
    days = study.retention_days
    yield _fact(
        _("IDs"),
        ngettext(
            "Panel ID, submission, invitation and the code of the network address are erased %(days)d day "
            "after the end of a part, once the person is paid. A keyed hash of the panel ID remains, so "
            "that nobody takes part twice.",
            "Panel ID, submission, invitation and the code of the network address are erased %(days)d days "
            "after the end of a part, once the person is paid. A keyed hash of the panel ID remains, so "
            "that nobody takes part twice.",
            days,
        )
        % {"days": days},
    )
    yield _fact(
        _("Texts and answers"),
        _("Kept under the pseudonym, without an end, unless they are withdrawn."),
    )
    yield _fact(_("Payments"), _("What was earned and paid is kept in a ledger that cannot be changed."))
    yield _fact(
        _("Backups"),
        _("Backups of the database hold earlier states. How long they are kept, the operator decides."),
    )
