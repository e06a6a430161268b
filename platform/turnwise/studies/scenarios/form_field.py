"""Form field for a study's table of scenarios: pasted as text, or from a file."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from turnwise.contexts.tables import FileRefusedError, Finding, decoded
from turnwise.contexts.uploads import text_of_workbook
from turnwise.studies.scenarios.tables import MOST_CHARACTERS, MOST_FINDINGS, Parsed, Scenario, parse

ENDINGS = {"csv": "csv", "tsv": "csv", "txt": "csv", "jsonl": "jsonl", "ndjson": "jsonl", "xlsx": "xlsx"}


def findings_error(problems: Sequence[Finding]) -> ValidationError:
    """Error of a form's field with the first problems of a text, each with its line."""
    says = gettext("Line %(line)d: %(say)s")
    shown = [says % {"line": each.line, "say": each.say} for each in problems[:MOST_FINDINGS]]
    if further := len(problems) - len(shown):
        shown.append(
            ngettext("One further problem is not shown.", "%(n)d further problems are not shown.", further)
            % {"n": further}
        )
    return ValidationError(shown)


class Submitted(NamedTuple):
    """Submitted values: the text of the field, and a file, which replaces the text."""

    text: str
    file: UploadedFile[Any] | None


class TableWidget(forms.Textarea):
    """Text of a table, with a file input of the same name and the ending `_file` beside it."""

    needs_multipart_form = True

    @override
    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> Submitted:
        return Submitted(data.get(name) or "", files.get(f"{name}_file"))


class ScenariosField(forms.Field):
    """A table of scenarios as CSV, JSON Lines or a workbook; its value is a list of rows."""

    widget = TableWidget(attrs={"rows": 6, "spellcheck": "false"})
    accepted = ",".join(f".{ending}" for ending in ENDINGS)

    @override
    def prepare_value(self, value: Any) -> Any:
        return value.text if isinstance(value, Submitted) else value

    @override
    def to_python(self, value: Any) -> list[Scenario]:
        submitted = value if isinstance(value, Submitted) else Submitted(value or "", None)
        try:
            parsed = _parsed(submitted)
        except FileRefusedError as error:
            raise ValidationError(str(error)) from None
        if not parsed.problems:
            return parsed.rows
        raise findings_error(parsed.problems)

    @override
    def has_changed(self, initial: Any, data: Any) -> bool:
        return bool(data.file) or super().has_changed(initial, self.prepare_value(data))


def _parsed(submitted: Submitted) -> Parsed:
    """Parse the file, or else the text; nothing gives an empty table.

    Raises:
        FileRefusedError: the file or the text cannot be read at all.
    """
    if submitted.file is None:
        if len(submitted.text) > 2 * MOST_CHARACTERS:
            raise FileRefusedError(
                gettext("The table has %(n)s characters, more than %(most)s. Shorten its texts.")
                % {"n": f"{len(submitted.text):,}", "most": f"{MOST_CHARACTERS:,}"}
            )
        return parse(submitted.text) if submitted.text.strip() else Parsed()
    name = submitted.file.name or ""
    ending = ENDINGS.get(name.lower().rpartition(".")[2])
    if ending is None:
        raise FileRefusedError(
            gettext("“%(name)s” does not end in any of %(endings)s. Save it in one of these formats.")
            % {"name": name[-60:], "endings": ", ".join(f".{each}" for each in ENDINGS)}
        )
    data = submitted.file.read()
    text = (
        text_of_workbook(data) if ending == "xlsx" else decoded(data, too_large=gettext("Shorten its texts."))
    )
    return parse(text, ending)


def scenarios_field() -> ScenariosField:
    """Create the field of a study's form."""
    return ScenariosField(
        required=False,
        label=_("Table of scenarios"),
        help_text=_(
            "One row per scenario; each conversation gets one, so that all come equally often with each "
            "chatbot. The first line names the columns: scenario (what the person is to do), and if you like "
            "persona (who the person is to be) and name (a short key for exports). Of any further column, "
            "such as product, a system prompt gets the value as {scenario.product}."
        ),
    )
