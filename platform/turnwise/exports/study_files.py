"""Every file in which a study's labels and conversations are downloaded, and who may export which study."""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, StreamingHttpResponse

from evaluation.protocols.facts import Evaluation
from turnwise.accounts.models import User
from turnwise.exports import published_formats, turn_files
from turnwise.exports.chat_files import data_set, inspect_logs, messages, turn_table
from turnwise.judging.queries import judgments_in
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.live.downloads import attachment
from turnwise.reports.report_kinds import ReportedTask, TaskWithReport
from turnwise.studies.asks import About
from turnwise.studies.bundles import record_export
from turnwise.studies.models import Ask, Study
from turnwise.studies.queries import readable_studies_of, studies_of
from turnwise.studies.sharing.permissions import Permission
from turnwise.studies.tasks import StudyTask, keys_of, task_of


def exported_studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """Studies whose labels the user may export: all with labels that they may read."""
    asked = Ask.objects.filter(study=OuterRef("pk"), about=About.PERSON)
    return readable_studies_of(user).filter(Q(task__in=keys_of(ReportedTask)) | Exists(asked))


def bundled_studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """Studies whose bundle the user may make and download."""
    return studies_of(user, Permission.BUNDLE).filter(task__in=keys_of(TaskWithReport))


def note_export(study: Study) -> None:
    """Record that the study's labels were exported, for the steps on its page."""
    record_export(study.pk, results_version=study.results_version, judgments=judgments_in(study))


MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "zip": "application/zip",
}


def _any_task(task: StudyTask) -> bool:
    """Every task has the file, because every study may have imported conversations."""
    return True


def _has_conversations(task: StudyTask) -> bool:
    return task.has_conversations


def _has_pairs_in_queue(task: StudyTask) -> bool:
    """True if raters compare responses of a queue."""
    if not (isinstance(task, QueuedTask) and isinstance(task, ReportedTask)):
        return False
    return task.evaluation is Evaluation.PAIRWISE


class StudyFile(NamedTuple):
    """A file of a study.

    Attributes:
        name: last part of its address, such as `turns.csv`; its ending says what kind of file it is.
        about: what is in it, in one sentence for the API's description.
        chunks: parts of the file in order, all text or all bytes.
        is_of: true of the tasks whose studies have the file.
    """

    name: str
    about: str
    chunks: Callable[[Study], Generator[Any]]
    is_of: Callable[[StudyTask], bool] = _any_task

    @property
    def media_type(self) -> str:
        return MEDIA_TYPES[self.name.rpartition(".")[2]]

    def suits(self, study: Study) -> bool:
        """True if a study of its task has the file."""
        return self.is_of(task_of(study))

    def saved_as(self, study: Study) -> str:
        """File name of the download."""
        return f"turnwise-{study.code}-{self.name}"


def sent_file(request: HttpRequest, study: Study, file: StudyFile) -> StreamingHttpResponse:
    """Stream a file of a study as a download, and note that its labels were exported."""
    note_export(study)
    return attachment(request, file.chunks(study), file.media_type, file.saved_as(study))


FILES = {
    file.name: file
    for file in (
        StudyFile("turns.csv", "All labels with their texts, a row for each.", turn_files.csv_lines),
        StudyFile("turns.jsonl", "The same, a JSON object in each line.", turn_files.jsonl_lines),
        StudyFile(
            "chatrecords.csv",
            "Conversations in the layout of neural.chat.",
            published_formats.neural_chat_records,
            _has_conversations,
        ),
        StudyFile(
            "chat_ratings.csv",
            "Ratings of whole conversations in the layout of neural.chat.",
            published_formats.neural_chat_ratings,
            _has_conversations,
        ),
        StudyFile(
            "conversations.json",
            "Accepted conversations in the format of Topical-Chat.",
            published_formats.topical_chat_conversations,
            _has_conversations,
        ),
        StudyFile(
            "reading_sets.json",
            "Their reading sets in the format of Topical-Chat.",
            published_formats.topical_chat_reading_sets,
            _has_conversations,
        ),
        StudyFile(
            "openai.jsonl", "Finished conversations as messages of OpenAI's format.", messages.openai_lines
        ),
        StudyFile(
            "sharegpt.jsonl", "Finished conversations in the format of ShareGPT.", messages.sharegpt_lines
        ),
        StudyFile("dataset.zip", "Finished conversations as Parquet with a data card.", data_set.data_set),
        StudyFile("turn_table.csv", "A row for each turn of finished conversations.", turn_table.csv_lines),
        StudyFile("turn_table.xlsx", "The same as a workbook.", turn_table.workbook),
        StudyFile(
            "inspect_logs.zip",
            "Conversations and responses with people's scores as logs of inspect_ai.",
            inspect_logs.inspect_logs,
        ),
        StudyFile(
            "preferences.jsonl",
            "Preferences between responses, for training with DPO.",
            published_formats.lines,
            _has_pairs_in_queue,
        ),
    )
}
"""Every file by its name, in the order of the study's page."""
