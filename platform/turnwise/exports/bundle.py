"""A study as one archive: its design and bots without secrets, its data, and every number of its report.

`python -m evaluation recompute` computes the numbers again from the archive. docs/exports.md describes it.
"""

import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from enum import StrEnum
from importlib.metadata import version
from tempfile import TemporaryFile
from typing import IO, Any, NamedTuple, Protocol
from urllib.parse import urlsplit, urlunsplit

from django.template.loader import render_to_string

from chatbots.errors import ChatbotError
from evaluation.report.bundles.columns import Table
from evaluation.report.bundles.recomputation import FORMAT, LIBRARIES
from evaluation.report.bundles.self_descriptions import audit_figures
from evaluation.report.bundles.tables import AUDITS
from evaluation.report.publishing.latex import tables
from evaluation.report.publishing.preregistration import as_markdown, as_text
from turnwise.audits.queries import audits_of_bots
from turnwise.bots import composition
from turnwise.bots.models import Bot
from turnwise.bots.prices import price_of
from turnwise.bots.queries import visible_bots
from turnwise.charts.layout import LIGHT, standalone
from turnwise.crowd.entry.worker_views import instructions_context
from turnwise.crowd.worker_task import WorkerTask, work_of
from turnwise.exports.audit_rows import audit_rows, to_columns
from turnwise.exports.files import (
    FORMATS,
    Archive,
    add_pictures,
    schema_of,
    sent_pictures,
    with_times_as_text,
)
from turnwise.exports.rows import Batch, answered_sets, rows, rows_in, tables_of
from turnwise.judging.batteries.battery_rules import as_json, battery_of
from turnwise.judging.judged_replies import judged_prices
from turnwise.judging.models import JudgingPlan
from turnwise.judging.queries import judgments_in
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.privacy.personal_data import studies_quoted_by
from turnwise.reports import descriptions
from turnwise.reports.answers import bot_names
from turnwise.reports.descriptions import departures_of, method
from turnwise.reports.queries import declared_rule, snapshot
from turnwise.reports.report_kinds import ReportedTask, task_with_report
from turnwise.studies.models import Ask, Preregistration, Study
from turnwise.studies.services import PROTOCOL_FIELDS
from turnwise.studies.tasks import task_of

MASK = "**********"
_PLAN_FIELDS = (
    "raters_per_item", "third_rater", "batch_size", "lease_seconds", "shows_reading", "training_tries",
    "adjudication_steps",
)  # fmt: skip
_SECRET = re.compile(r"key|token|secret|password|passwd|credential|authorization|cookie", re.IGNORECASE)


def describe_study(study: Study) -> dict[str, Any]:
    """The study as JSON, without its owner and without its link, which would admit workers."""
    names, task, rule = bot_names(study), task_with_report(study), declared_rule(study)
    bots = study.study_bots.select_related("bot").prefetch_related("bot__versions").order_by("bot__name")
    return {
        "title": study.title,
        "rehearsal": study.rehearsal_of_id is not None,
        "state": study.state,
        "created_at": study.created_at.isoformat(),
        "results_version": study.results_version,
        "asks": [_describe_ask(ask) for ask in study.work_asks],
        "questionnaires": [_describe_ask(ask) for ask in study.questionnaires],
        "protocol": {name: getattr(study, name) for name in PROTOCOL_FIELDS},
        "evaluation": task.evaluation if isinstance(task, ReportedTask) else task.key,
        "judging": _plan(study),
        **({"stopping": rule.to_json()} if rule else {}),
        "languages": study.languages,
        "instructions": study.instructions,
        "debriefing": study.debriefing,
        "conducted_by": study.organization,
        "contact": study.contact_address,
        "pay": {"amount": str(study.pay_amount), "currency": study.pay_currency},
        "expected_minutes": study.expected_minutes,
        "withdrawal_days": study.withdrawal_days,
        "retention_days": study.retention_days,
        "consent": list(study.consent_versions.values_list("number", flat=True)),
        "bots": [
            describe_bot(each.bot, names[each.bot_id], each.target, is_theirs=is_theirs(study, each.bot))
            | {"facets": each.facets}
            for each in bots
        ],
        "judged_prices": {
            bot: [price._asdict() for price in prices] for bot, prices in judged_prices(study).items()
        },
        **task.described(study),
    }


def _describe_ask(ask: Ask) -> dict[str, Any]:
    return {
        "number": ask.number,
        "question_set": ask.question_set,
        "about": ask.about,
        "by": ask.by,
        "moment": ask.moment or None,
        "required": ask.required,
    }


def _plan(study: Study) -> dict[str, Any] | None:
    """Settings of the judging queue; None if the study's workers do not judge items."""
    if not isinstance(task_of(study), QueuedTask):
        return None
    plan = JudgingPlan.objects.filter(study=study).first() or JudgingPlan()
    battery = battery_of(study)
    return {
        **{name: getattr(plan, name) for name in _PLAN_FIELDS},
        "battery": as_json(battery) if battery else None,
    }


def is_theirs(study: Study, bot: Bot) -> bool:
    """Return whether the study's owner may see the bot's settings."""
    return study.owner is None or visible_bots(study.owner).filter(pk=bot.pk).exists()


def describe_bot(bot: Bot, shown_as: str, target: int, *, is_theirs: bool) -> dict[str, Any]:
    """A bot of a study as JSON, with its versions and its target number of conversations."""
    return {
        "bot": bot.name,
        "title": bot.title,
        "shown_as": shown_as,
        "target": target,
        "adapter": bot.adapter,
        "configuration": _configuration(bot) if is_theirs else MASK,
        "versions": [
            {
                "fingerprint": version.fingerprint,
                "first_seen_at": version.first_seen_at.isoformat(),
                "details": mask_secrets(version.details) if is_theirs else MASK,
            }
            for version in bot.versions.all()
        ],
        "prices": [price_of(row)._asdict() for row in bot.prices.all()],
    }


def _configuration(bot: Bot) -> object:
    """The bot's settings without secrets; all are masked if the adapter is not installed."""
    try:
        declared = composition.configuration_of(bot.adapter, bot.configuration).model_dump(mode="json")
    except ChatbotError:
        return dict.fromkeys(bot.configuration, MASK)
    return mask_secrets(declared)


def mask_secrets(value: object) -> object:
    """Mask JSON values whose keys sound secret, and passwords in addresses."""
    if isinstance(value, Mapping):
        return {
            key: MASK if _SECRET.search(str(key)) and isinstance(each, str) and each else mask_secrets(each)
            for key, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [mask_secrets(each) for each in value]
    return _without_password(value) if isinstance(value, str) and "@" in value else value


def _without_password(text: str) -> str:
    try:
        address = urlsplit(text)
    except ValueError:
        return text
    if not address.scheme or "@" not in address.netloc:
        return text
    return urlunsplit(address._replace(netloc=f"{MASK}@{address.netloc.rpartition('@')[2]}"))


_CHUNK = 1 << 20


class Stage(StrEnum):
    """Stage of making a bundle."""

    COMPUTING = "computing"
    DRAWING = "drawing"
    ADDING = "adding rows"
    STORING = "storing"


class ProgressCallback(Protocol):
    """Callback for progress: the stage, and the number of rows written of all."""

    def __call__(self, stage: Stage, done: int = 0, of: int = 0) -> None: ...


def _ignore_progress(stage: Stage, done: int = 0, of: int = 0) -> None:
    return


class BundleContents(NamedTuple):
    """State of the study that a bundle covers, and the studies that it quotes."""

    results_version: int
    judgments: int
    quotes: list[int]


def quoted_studies(study: Study) -> list[int]:
    """Ids of all studies whose texts or answers are in this study's bundle, including audits of its bots."""
    audits = [each.audit.study_id for each in audits_of_bots(study, study.owner)]
    return sorted({*studies_quoted_by(study), *(key for key in audits if key)})


def write_bundle(
    study_id: int, stream: IO[bytes], report_progress: ProgressCallback = _ignore_progress
) -> BundleContents:
    """Write the archive to a stream, from one snapshot of the database.

    Raises:
        ValueError: the labels contradict each other; nothing was written.
    """
    before = Study.objects.get(pk=study_id)
    task = task_with_report(before)
    report_progress(Stage.COMPUTING)
    task.prepare(before)
    with snapshot():
        study = Study.objects.get(pk=study_id)
        # A round trip through JSON, as for the stored report; numbers stay exact.
        audit_answers = audit_rows(study)
        of_audits = {"audits": audit_figures(audit_answers)} if audit_answers else {}
        result = json.loads(json.dumps({**descriptions.computation(study)(), **of_audits}))
        all_tables = tables_of(study)
        report_progress(Stage.DRAWING)
        with closing(Archive(stream)) as archive:
            archive.add(
                "README.md", _readme(study, result, (*all_tables, *([AUDITS] if audit_answers else [])))
            )
            for name, content in _documents(study, result):
                archive.add(name, content)
            written, wanted = 0, sum(rows_in(study, table) for table in all_tables)
            for table in all_tables:
                report_progress(Stage.ADDING, written, wanted)
                for number in _add_table(archive, table, rows(study, table)):
                    written += number
                    report_progress(Stage.ADDING, written, wanted)
            add_pictures(archive, study)
            if audit_answers:
                sum(_add_table(archive, AUDITS, [to_columns(audit_answers)]))
            # Written last, so that an incomplete archive lacks it.
            archive.add_unlisted("datapackage.json", _to_json(_package(study, archive)))
        return BundleContents(study.results_version, judgments_in(study), quoted_studies(study))


def _documents(study: Study, result: dict[str, Any]) -> Iterator[tuple[str, str | bytes]]:
    from turnwise.charts.drawing import pdf, svgs  # only the process that writes bundles loads Matplotlib

    yield "study.json", _to_json(describe_study(study))
    if isinstance(task_of(study), WorkerTask):
        shown = instructions_context(study, {}) | {"resume_code": "", "started": False, "begin": ""}
        yield "instructions.html", render_to_string(work_of(study).instructions, shown)
    for consent in study.consent_versions.all():
        yield f"consent/{consent.number}.txt", consent.text
    every_set = {each.key: each for each in (*answered_sets(study), *descriptions.questionnaire_sets(study))}
    yield "questions.json", _to_json([each.to_json() for each in every_set.values()])
    yield "report.json", _to_json(result)
    yield from _preregistered(study)
    if isinstance(task_of(study), ReportedTask):
        paragraph = method(study, result)
        yield "method/paragraph.txt", paragraph.text + "\n"
        yield "method/paragraph.tex", paragraph.latex + "\n"
        yield "method/citations.bib", paragraph.bibtex
    for name, table in tables(result).items():
        yield f"tables/{name}.tex", table
    for name, svg in svgs(result).items():
        yield f"charts/{name}.svg", standalone(svg, LIGHT)
        yield f"charts/{name}.pdf", pdf(name, result, LIGHT)


def _preregistered(study: Study) -> Iterator[tuple[str, str | bytes]]:
    """The frozen plan, and the departures from it; nothing for a study without one."""
    stored = Preregistration.objects.filter(study=study).first()
    if stored is None:
        return
    yield "preregistration/plan.json", as_text(stored.plan)
    yield "preregistration/plan.md", as_markdown(stored.plan)
    yield "preregistration/departures.txt", "".join(f"{each}\n" for each in departures_of(study) or ())


def _add_table(archive: Archive, table: Table, batches: Iterable[Batch]) -> Iterator[int]:
    """Add a table in every format; yield the number of rows of each batch.

    Rows are read once; temporary files hold each format until it is added.
    """
    with ExitStack() as files:
        written = {ending: files.enter_context(TemporaryFile()) for ending in FORMATS}
        with ExitStack() as writing:
            takes = [
                (each.typed, writing.enter_context(each.writing(written[ending], table)))
                for ending, each in FORMATS.items()
            ]
            for batch in batches:
                as_text = with_times_as_text(batch, table)
                for typed, take in takes:
                    take(batch if typed else as_text)
                yield len(batch)
        for ending, file in written.items():
            _add_file(archive, table, ending, file)


def _add_file(archive: Archive, table: Table, ending: str, written: IO[bytes]) -> None:
    about: dict[str, Any] = {"mediatype": FORMATS[ending].mediatype}
    if ending == "csv":
        about |= {"name": table.name, "description": table.about, "schema": schema_of(table)}
    written.seek(0)
    path = f"data/{table.name}.{ending}"
    with archive.file(path, packed=FORMATS[ending].packed, **about) as file:
        shutil.copyfileobj(written, file, _CHUNK)


def _package(study: Study, archive: Archive) -> dict[str, Any]:
    """List of the archive's files as a Frictionless Data Package."""
    named = [{"name": str(each["path"]).replace("/", "-").lower(), **each} for each in archive.listed]
    return {
        "name": "turnwise-study",
        "title": study.title,
        "turnwise_format": FORMAT,
        "turnwise_version": version("turnwise"),
        "libraries": {name: version(name) for name in LIBRARIES},
        "resources": named,
    }


def _readme(study: Study, result: dict[str, Any], all_tables: tuple[Table, ...]) -> str:
    # Not escaped, because Markdown is plain text; the title must stay on one line.
    shown = {
        "title": " ".join(study.title.split()),
        "result": result,
        "tables": all_tables,
        "rehearsal": study.rehearsal_of_id is not None,
        "has_workers": isinstance(task_of(study), WorkerTask),
        "has_plan": Preregistration.objects.filter(study=study).exists(),
        "has_pictures": sent_pictures(study).exists(),
    }
    return render_to_string("exports/bundle.md", shown | {"version": version("turnwise")})


def _to_json(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"
