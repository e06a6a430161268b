"""Forms of a study: the fields that every study has, and the page that tasks extend."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.conf.locale import LANG_INFO
from django.core.exceptions import ValidationError
from django.utils.functional import lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.studies import consent
from turnwise.studies.asks import AskSpec
from turnwise.studies.consent import why_contact_missing
from turnwise.studies.form_fields import QuestionnaireForms
from turnwise.studies.models import Study, is_read_by_a_native_speaker
from turnwise.studies.presets import OWN_DESIGN, Preset, presets_of
from turnwise.studies.services import FIXED_FIELDS
from turnwise.studies.tasks import Plan, task_of

CODES = frozenset(
    """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD
    CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD
    GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD
    KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO
    NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE
    SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV
    WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
    """.split()  # noqa: SIM905  (a list of 154 would be read by nobody)
)
"""The active codes of ISO 4217, without those of funds, metals and tests."""


PAY_PER_WORKER = {"pay_amount": _("Pay per worker, for the whole batch")}
# Fields of every study.
FIELDS = (
    "title", "protocol", "languages", "instructions", "debriefing", "conducted_by", "contact", "pay_amount",
    "pay_currency", "hourly_target", "expected_minutes", "withdrawal_days", "retention_days",
)  # fmt: skip
_CODE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")  # BCP 47, as far as this platform speaks it
_CODES = {info["name"].lower(): code for code, info in LANG_INFO.items() if "name" in info}
# Fields that workers read as formatted Markdown.
IN_MARKDOWN = ("consent_text", "instructions", "debriefing")
# Fields of studies with questions and a report.
ASKING = ("practice", "markdown", "primary_analysis", "exclusion_rules", "margin", "pilot_size")


def _about_languages() -> str:
    """Explain the field of languages, and name the languages of the pages for workers."""
    names = {code.partition("-")[0]: name for code, name in settings.LANGUAGES}
    read, unread = (
        ", ".join(
            f"{gettext(name)} ({code})"
            for code, name in names.items()
            if is_read_by_a_native_speaker(code) is wanted
        )
        for wanted in (True, False)
    )
    about = gettext(
        "Codes of the languages in which people talk, separated by commas. For example: en, zh. All pages "
        "for workers and the questions that come with Turnwise are in: %(languages)s."
    ) % {"languages": read}
    also = gettext("Also, but not read by a native speaker: %(languages)s.") % {"languages": unread}
    further = gettext("More languages can be translated on the page Languages.")
    return " ".join([about, also, further] if unread else [about, further])


class StudyForm(forms.ModelForm[Study]):
    """Fields of every study; the form of a task may add more."""

    languages = forms.CharField(
        label=_("Languages"),
        initial="en",
        max_length=100,
        help_text=lazy(_about_languages, str)(),
    )
    consent_text = forms.CharField(
        label=_("Consent text"),
        widget=forms.Textarea,
        max_length=20_000,
        help_text=_("What is in [brackets] is for you to fill in, or to delete."),
    )

    class Meta:
        model = Study
        fields: tuple[str, ...] = FIELDS
        labels = PAY_PER_WORKER
        widgets: ClassVar[Mapping[str, forms.Widget]] = {
            "exclusion_rules": forms.Textarea(attrs={"rows": 3}),
            "material": forms.Textarea(attrs={"rows": 8}),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "primary_analysis" in self.fields:
            self.fields["primary_analysis"].required = False  # all workers, if nobody says otherwise
        if "markdown" in self.fields:
            self.fields["markdown"].help_text = _(
                "Headings, lists, tables, code and formulas in replies are shown formatted, not as the "
                "Markdown of the bot. Nothing is loaded from elsewhere. Ticked by itself when you choose a "
                "bot behind a service."
            )
        self._offer_protocols()
        formatted = _(
            "Markdown may be used, for example: **bold**, - item of a list, [link](https://example.org)."
        )
        for name in self.fields.keys() & set(IN_MARKDOWN):
            self.fields[name].help_text = f"{self.fields[name].help_text} {formatted}".strip()
        for name in self.fields.keys() & {
            "withdrawal_days",
            "retention_days",
            "pilot_size",
            "re_entry",
            "re_entry_most",
            "reply_display",
            "reply_pace",
            "max_reply_versions",
        }:
            # A program that leaves the field out gets the default.
            self.fields[name].required = name in self.data
        if not self.instance.pk:
            self.initial.pop("languages", None)
            self.initial.setdefault("consent_text", consent.TEMPLATE)
        else:
            latest = self.instance.consent_versions.last()
            self.initial["consent_text"] = latest.text if latest else consent.TEMPLATE
            self.initial["languages"] = ", ".join(self.instance.languages)
            for name in self.fields.keys() & set(FIXED_FIELDS):
                self.fields[name].disabled = self.instance.state != Study.State.DRAFT

    def _offer_protocols(self) -> None:
        """Offer the protocols that a study of this task can follow, if there are any."""
        able = presets_of(task_of(self.instance))
        if len(able) == 1:
            self.fields.pop("protocol", None)
            return
        self.fields["protocol"] = forms.ChoiceField(
            label=_("Compare the report with"),
            help_text=_(
                "The report lists every departure from this protocol or design, and shows its published "
                "scores, if it has any, beside yours. A design of your own is compared with none."
            ),
            choices=_grouped(able),
            required=False,
        )

    def clean(self) -> dict[str, Any]:
        """Refuse to take the last address for questions from a study that pays and has been opened."""
        cleaned = super().clean() or self.cleaned_data
        pays = cleaned.get("pay_amount") and self.instance.state in (Study.State.OPEN, Study.State.PAUSED)
        if pays and "contact" in cleaned and not (cleaned["contact"] or settings.CONTACT):
            self.add_error("contact", why_contact_missing())
        return cleaned

    def clean_languages(self) -> list[str]:
        codes = [code.strip() for code in self.cleaned_data["languages"].split(",") if code.strip()]
        if named := next((code for code in codes if code.lower() in _CODES), None):
            raise ValidationError(
                gettext("“%(name)s” is the name of a language, not its code. Write “%(code)s” instead.")
                % {"name": named, "code": _CODES[named.lower()]}
            )
        if not codes or not all(_CODE.fullmatch(code) and len(code) <= 10 for code in codes):
            raise ValidationError(
                gettext("“%(value)s” is not a list of language codes such as: en, zh")
                % {"value": self.cleaned_data["languages"]}
            )
        return codes

    def clean_pay_currency(self) -> str:
        code: str = self.cleaned_data["pay_currency"].upper()
        if code not in CODES:
            raise ValidationError(
                gettext("“%(code)s” is not the code of a currency, such as USD or EUR.") % {"code": code}
            )
        return code


def _grouped(presets: Sequence[Preset]) -> list[tuple[Any, Any]]:
    """Choices of protocols: the own design, then the published ones and those of Turnwise in groups."""
    published = [(each.protocol, each.title) for each in presets if each.is_published]
    ours = [(each.protocol, each.title) for each in presets if each.protocol and not each.is_published]
    groups = [(_("Published protocols"), published), (_("Designs of Turnwise"), ours)]
    return [(OWN_DESIGN.protocol, OWN_DESIGN.title), *(group for group in groups if group[1])]


class StudyPage:
    """The forms in which a study of one task is created and edited.

    Attributes:
        template: of the page; extends studies/form.html.
        study_form: class of the form about the study itself.
    """

    template: ClassVar[str]
    study_form: ClassVar[type[StudyForm]] = StudyForm

    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        """Show a study, saved or new, or validate submitted data.

        Args:
            user: who edits the study.
            study: with its task.
            data: what was submitted; None for a fresh page.
        """
        self.form = self.study_form(data, instance=study)
        self.questionnaires = QuestionnaireForms(user, study, data)

    def is_valid(self) -> bool:
        return all([self.form.is_valid(), self.questionnaires.is_valid()])

    def study(self) -> Study:
        """The unsaved study of valid forms."""
        return self.form.save(commit=False)

    def consent_text(self) -> str:
        """Consent text of valid forms; empty if no workers take part."""
        text: str = self.form.cleaned_data["consent_text"]
        return text

    def targets(self) -> Mapping[Bot, int]:
        """Targets of conversations by bot, of valid forms."""
        return {}

    def asks(self) -> Sequence[AskSpec] | None:
        """Asks about turns, responses or other work, of valid forms; None: the task's default."""
        return None

    def every_ask(self) -> Sequence[AskSpec]:
        """All asks of valid forms, including those about the people themselves."""
        study = self.form.instance
        asks = self.asks()
        if asks is None:
            asks = [ask.declared for ask in study.work_asks] or task_of(study).asks
        return [*asks, *self.questionnaires.ask_specs]

    def plan(self) -> Plan | None:
        """The plan that the task stores beside the study, of valid forms."""
        return None

    def template_context(self) -> dict[str, Any]:
        """Context of the template."""
        return {
            "form": self.form,
            "questionnaires": self.questionnaires,
            "default_contact": settings.CONTACT,
            "consents": consent.TEMPLATES,
            "consent_texts": consent.for_script(),
        }
