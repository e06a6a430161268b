"""Fields and asks of a study in the REST API: those of its page, validated by the same forms."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from django.core.exceptions import ValidationError
from ninja import Field, Schema

from evaluation.texts.lengths import MAX_MESSAGE_CHARS, MAX_REPLY_CHARS
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.live.problems import InvalidFieldsError
from turnwise.live.submitted_forms import initial_values, merged_values, refuse_invalid
from turnwise.questions.queries import readable
from turnwise.studies import services
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import (
    MOST_REPLY_VERSIONS,
    PrimaryAnalysis,
    ReEntry,
    ReplyDisplay,
    Speaker,
    Study,
)
from turnwise.studies.tasks import task_of

PlanValue = str | int | float | bool | None


class StudyFields(Schema, extra="forbid"):
    """Fields of a study's page. Those that are left out stay as they are, or as in the preset."""

    title: str | None = Field(None, max_length=120)
    languages: list[str] | None = Field(None, max_length=10, description="Codes, such as `en`.")
    protocol: str | None = Field(
        None, description="Key of the protocol, published or of Turnwise, that the report compares with."
    )
    instructions: str | None = Field(None, description="What workers read before they begin.")
    consent_text: str | None = Field(
        None, max_length=20_000, description="What workers agree to; a change is a new version."
    )
    debriefing: str | None = Field(None, description="What workers read at the end.")
    conducted_by: str | None = Field(
        None,
        max_length=200,
        description="People or institution; empty: those of the installation.",
    )
    contact: str | None = Field(
        None,
        max_length=254,
        description="E-mail address for questions; empty: the installation's.",
    )
    pay_amount: Decimal | None = Field(None, ge=0, description="Pay for complete work.")
    pay_currency: str | None = Field(None, max_length=3, description="ISO 4217, such as `USD`.")
    hourly_target: Decimal | None = Field(None, ge=0, description="Pay per hour that is aimed at.")
    expected_minutes: int | None = Field(None, description="How long the work takes.")
    withdrawal_days: int | None = Field(None, description="Days in which workers may withdraw their data.")
    retention_days: int | None = Field(None, description="Days after which panel ids are erased.")
    opening_speaker: Speaker | None = None
    opening_text: str | None = Field(None, description="What the opening speaker says.")
    min_turns: int | None = Field(None, ge=2, le=500)
    max_turns: int | None = Field(None, ge=2, le=500)
    scenario: str | None = Field(
        None, max_length=2000, description="The situation in which people talk; they and the bots read it."
    )
    persona: str | None = Field(
        None, max_length=4000, description="Persona of the chatbot; people do not see it."
    )
    scenarios: str | None = Field(
        None,
        description="Table of scenarios as CSV or JSON Lines, with the columns `scenario`, `persona`, `name` "
        "and variables of system prompts; each conversation gets a row.",
    )
    factors: str | None = Field(
        None,
        description="Between-subject factors: for each level a line `# factor: level`, if wanted lines "
        "`bots: NAME, NAME` and `scenarios: NAME, NAME`, then what people in it read beside the "
        "instructions, or a lone `-`.",
    )
    blind: bool | None = Field(None, description="Whether the names of the bots are hidden.")
    material: str | None = Field(None, description="Text beside the work, with a heading for each part.")
    bots_read: bool | None = Field(None, description="Whether bots get the material, too.")
    knowledge: int | None = Field(None, ge=1, le=2**31 - 1, description="Key of a knowledge base's version.")
    practice: bool | None = Field(None, description="Whether workers try the work first.")
    markdown: bool | None = Field(None, description="Whether Markdown in replies is shown formatted.")
    primary_analysis: PrimaryAnalysis | None = Field(
        None, description="The primary analysis: whose labels count in the report."
    )
    exclusion_rules: str | None = Field(
        None, max_length=2000, description="Rules by which workers are excluded."
    )
    margin: float | None = Field(
        None, description="The largest difference that does not matter, in points; null: none is declared."
    )
    pilot_size: int | None = Field(None, ge=0, le=1000, description="People of the pilot; 0: no pilot.")
    re_entry: ReEntry | None = Field(None, description="Whether the same person may take part again.")
    re_entry_most: int | None = Field(None, description="How often, if `re_entry` is a number of times.")
    reply_display: ReplyDisplay | None = Field(
        None, description="How replies of chatbots appear; usually when they are complete."
    )
    reply_pace: int | None = Field(
        None, ge=10, le=2000, description="Characters per second of replies at a fixed pace; usually 60."
    )
    may_stop_replies: bool | None = Field(None, description="Whether workers can stop a reply that grows.")
    max_reply_versions: int | None = Field(
        None, ge=1, le=MOST_REPLY_VERSIONS, description="Replies to a message to choose from; usually 1."
    )
    takes_pictures: bool | None = Field(None, description="Whether people may send a picture with a message.")
    max_reply_chars: int | None = Field(
        None, ge=20, le=MAX_REPLY_CHARS, description="Longest reply; null: the installation's limit."
    )
    max_message_chars: int | None = Field(
        None, ge=20, le=MAX_MESSAGE_CHARS, description="Longest message; null: the installation's limit."
    )
    stores_reasoning: bool | None = Field(
        None, description="Whether the reasoning of chatbots is stored. Workers never see it."
    )
    plan: dict[str, PlanValue] | None = Field(
        None,
        description="Fields of the task's plan, for tasks with one (two people, writing, self-play), by the "
        "names of its form.",
    )


SETTINGS = frozenset(StudyFields.model_fields) - {"plan"}


def settings_of(study: Study) -> dict[str, Any]:
    """Values of a study's fields, as its page shows them."""
    form = task_of(study).form.study_form(instance=study)
    values = initial_values(form)
    values["languages"] = study.languages
    return {name: value for name, value in values.items() if name in SETTINGS}


def save(
    study: Study,
    sent: Mapping[str, Any],
    *,
    by: User,
    targets: Mapping[Bot, int],
    asks: tuple[AskSpec, ...] | None = None,
) -> Study:
    """Store a new or changed study with these fields, as its page would.

    Args:
        study: the study, saved before or not.
        sent: fields that change, by name.
        by: the user; owner of a new study.
        targets: conversations wanted of each bot.
        asks: asks of a new study; None: unchanged, or the task's default.

    Raises:
        InvalidFieldsError: by field, why it is refused; nothing was changed.
    """
    fields = dict(sent)
    plan = fields.pop("plan", None) or {}
    empty = task_of(study).form(by, study)
    planned = empty.template_context().get("plan_form")
    absent = f"A study of the task “{study.task}” has no field “%(name)s”. Leave it out."
    data = merged_values(empty.form, fields, absent=absent, fixed=services.OPENED)
    if planned is not None:
        of_plan = merged_values(planned, plan, absent=absent, fixed=services.OPENED, prefix="plan.")
        data |= {planned.add_prefix(name): value for name, value in of_plan.items()}
    elif plan:
        raise InvalidFieldsError({"plan": [f"A study of the task “{study.task}” has no plan."]})
    page = task_of(study).form(by, study, data)
    filled = page.template_context().get("plan_form")
    refuse_invalid(page.form)
    if filled is not None and plan:
        refuse_invalid(filled, "plan.")
    # A draft may lack its plan: contexts, for example, may come later.
    return _stored(page, has_plan=filled is not None and filled.is_valid(), by=by, targets=targets, asks=asks)


def _stored(
    page: Any,
    *,
    has_plan: bool,
    by: User,
    targets: Mapping[Bot, int],
    asks: tuple[AskSpec, ...] | None,
) -> Study:
    is_planned = has_plan or "plan_form" not in page.template_context()
    try:
        return services.save_study(
            page.study() if is_planned else page.form.save(commit=False),
            owner=by,
            consent_text=page.consent_text(),
            targets=targets,
            plan=page.plan() if has_plan else None,
            asks=asks,
        )
    except ValidationError as error:
        raise InvalidFieldsError.of(error) from None


class AskSchema(Schema, extra="forbid"):
    """An ask of a study."""

    question_set: str = Field(description="Key of the questions.", max_length=60)
    about: About = Field(description="Subject of the questions.")
    moment: Moment | Literal[""] = Field("", description="When it is asked; empty for readers.")
    required: bool = True


def ask_specs(user: User, sent: Sequence[AskSchema], path: str = "") -> tuple[AskSpec, ...]:
    """Asks as they were sent.

    Args:
        user: the user.
        sent: the asks.
        path: where they stand in the request, with a full stop at its end; empty: at the top.

    Raises:
        InvalidFieldsError: the user cannot use a question set.
    """
    for number, ask in enumerate(sent):
        if not readable(user, ask.question_set):
            says = f"There is no question set “{ask.question_set}” that you can use."
            raise InvalidFieldsError({f"{path}{number}.question_set": [says]})
    return tuple(AskSpec(ask.question_set, ask.about, ask.moment or None, ask.required) for ask in sent)


def ask_schemas(study: Study) -> list[AskSchema]:
    """All asks of a study in their order."""
    return [
        AskSchema(
            question_set=ask.question_set,
            about=About(ask.about),
            moment=Moment(ask.moment) if ask.moment else "",
            required=ask.required,
        )
        for ask in study.asks.all()
    ]
