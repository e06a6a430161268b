"""The document about a study for an ethics board: its declarations, its pages' texts, where data go."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.questions import Question
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.queries import masked_settings, visible_bots
from turnwise.crowd.entry.worker_views import instructions_context
from turnwise.crowd.languages import ENGLISH, catalog_of
from turnwise.crowd.panels import panel_of, panels_of
from turnwise.crowd.worker_task import WorkerTask, work_of
from turnwise.live.markdown import as_html
from turnwise.privacy.ethics.blocks import Block, Kind, Section, blocks_of_fragment, blocks_of_page
from turnwise.questions.question_sets import in_language, question_set
from turnwise.studies.models import Ask, ConsentVersion, Study
from turnwise.studies.presets import presets_of
from turnwise.studies.sharing.permissions import readers_of
from turnwise.studies.tasks import task_of


@dataclass(frozen=True, slots=True)
class EthicsDocument:
    """The document about a study.

    Attributes:
        title: title of the study.
        made_at: when the document was made.
        sections: its parts in order.
    """

    title: str
    made_at: datetime
    sections: list[Section]


def has_ethics_document(study: Study) -> bool:
    """True if workers take part in such a study."""
    return isinstance(task_of(study), WorkerTask)


def ethics_document(study: Study, reader: User | AnonymousUser) -> EthicsDocument:
    """Describe the study for an ethics board, as far as this person may see its bots' services."""
    language = study.languages[0] if study.languages else ENGLISH
    sections = [
        Section(_("The study"), [*_protocol(study)]),
        Section(_("Before consent, as participants read it"), _consent_page(study, language)),
        Section(_("Instructions, as participants read them"), _instructions(study, language)),
        *_levels(study),
        Section(_("Questions, as asked"), [*_questions(study, language)]),
        *_debriefing(study),
        Section(_("Data flow"), [*data_flow(study, reader)]),
        Section(_("How long data are kept"), [*retention(study)]),
    ]
    return EthicsDocument(study.title, timezone.now(), sections)


def _fact(term: str, text: object) -> Block:
    return Block(Kind.FACT, str(text), term)


def _protocol(study: Study) -> Iterator[Block]:
    """Describe who conducts the study, what people do, and how they are recruited and paid."""
    task = task_of(study)
    unnamed = _("Not named yet.")
    yield _fact(_("Conducted by"), study.organization or unnamed)
    yield _fact(_("Contact for questions"), study.contact_address or unnamed)
    yield _fact(_("State"), study.get_state_display())
    yield _fact(_("What people do"), task.title)
    titles = [each.title for each in presets_of(task) if study.protocol and each.protocol == study.protocol]
    if titles:
        yield _fact(_("Protocol"), titles[0])
    yield _fact(_("Languages"), study.language_names)
    yield _fact(_("Recruited through"), ", ".join(str(panel_of(each).title) for each in panels_of(study)))
    yield _fact(_("Pay"), study.pay or _("Participants are not paid."))
    minutes = study.expected_minutes
    yield _fact(_("Expected time"), ngettext("%(n)d minute", "%(n)d minutes", minutes) % {"n": minutes})
    yield _fact(_("Taking part again"), study.get_re_entry_display())
    yield from _conditions(study)


def _conditions(study: Study) -> Iterator[Block]:
    """Conditions of the work and of the analysis."""
    task = task_of(study)
    if task.has_conversations:
        turns = {"least": study.min_turns, "most": study.max_turns}
        yield _fact(_("Length of a conversation"), _("%(least)d to %(most)d messages") % turns)
    if bots := task.bots_to_try(study):
        yield _fact(_("Chatbots"), ", ".join(each.title for each in bots))
        hidden, shown = _("Participants do not learn which."), _("Participants see its name.")
        yield _fact(_("Name of the chatbot"), hidden if study.blind else shown)
    if any(each.is_operated for each in bots):
        yield _fact(_("Deception"), _("A person answers in place of a chatbot."))
    for limit, term in (
        (study.message_minutes, _("Minutes for each step")),
        (study.session_minutes, _("Minutes for all of the work")),
    ):
        if limit:
            yield _fact(term, limit)
    if task.asks:
        yield _fact(_("Primary analysis"), study.get_primary_analysis_display())
    if study.exclusion_rules:
        yield _fact(_("Rules of exclusion"), study.exclusion_rules)


def _consent_page(study: Study, language: str) -> list[Block]:
    """The page on which participants agree, with the newest version of the consent text."""
    missing = _("There is no consent text yet.")
    consent = study.consent_versions.last() or ConsentVersion(number=1, text=missing)
    staged = {"address": "", "next": "", "leave": "", "wishes": {}}
    with translation.override(catalog_of(language) or ENGLISH):
        context = {"study": study, "task": work_of(study), "consent": consent, "staged": staged}
        return blocks_of_page(render_to_string("crowd/welcome.html", context))


def _instructions(study: Study, language: str) -> list[Block]:
    with translation.override(catalog_of(language) or ENGLISH):
        context = instructions_context(study, {}) | {"resume_code": "", "started": False, "begin": ""}
        return blocks_of_page(render_to_string(work_of(study).instructions, context))


def _levels(study: Study) -> list[Section]:
    """What people read in each level of the study's factors; no section without factors."""
    blocks = [
        block
        for factor in study.factors
        for level in factor["levels"]
        for block in (
            Block(Kind.HEADING, f"{factor['name']}: {level['name']}"),
            *blocks_of_fragment(as_html(level["text"] or _("Nothing beside the instructions."))),
        )
    ]
    title = _("Conditions: each participant gets one level of each factor by chance, and reads its text")
    return [Section(title, blocks)] if blocks else []


def _debriefing(study: Study) -> list[Section]:
    if not study.debriefing:
        return []
    return [Section(_("Debriefing, on the last page"), blocks_of_fragment(as_html(study.debriefing)))]


def _questions(study: Study, language: str) -> Iterator[Block]:
    """Every question with its answers, in the study's first language."""
    asks = study.every_ask
    if not asks:
        yield Block(Kind.TEXT, _("No questions are asked."))
    for ask in asks:
        yield Block(Kind.HEADING, _ask_title(ask))
        for number, question in enumerate(in_language(question_set(ask.question_set), language).questions, 1):
            yield from _question(number, question)


def _ask_title(ask: Ask) -> str:
    optional = "" if ask.required else f" ({_('optional')})"
    return f"{ask}{optional}"


def _question(number: int, question: Question) -> Iterator[Block]:
    yield Block(Kind.TEXT, f"{number}. {question.wording}")
    if question.help:
        yield Block(Kind.TEXT, question.help)
    if scale := question.scale:
        ends = {"low": scale.low, "low_caption": scale.low_caption, "high": scale.high}
        ends |= {"high_caption": scale.high_caption}
        yield Block(Kind.ITEM, _("%(low)d (%(low_caption)s) to %(high)d (%(high_caption)s)") % ends)
        return
    if not question.choices:
        yield Block(Kind.ITEM, _("Free text, up to %(n)d characters") % {"n": question.longest})
    for choice in question.choices:
        yield Block(Kind.ITEM, ": ".join(filter(None, (choice.label, choice.hint))))


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
