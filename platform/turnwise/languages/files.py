"""Files of a language's texts: CSV for spreadsheets, .po for catalog editors; both are read back."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence

from django.utils.translation import gettext as _

from evaluation.files.writing import csv_text, original
from turnwise.accounts.models import User
from turnwise.languages.catalog_files import (
    CatalogEntry,
    FileFault,
    FileFaultsError,
    catalog_lines,
    check_size,
    read_catalog,
)
from turnwise.languages.models import Language, Revision
from turnwise.languages.plurals import is_same_rule
from turnwise.languages.queries import rows_of
from turnwise.languages.services import faults_of, locale_of, save_translations
from turnwise.languages.texts import key_of, worker_texts

MOST_BYTES = 4_000_000
_SOURCE = ("context", "english", "plural")


def _entries(language: Language) -> Iterator[CatalogEntry]:
    for row in rows_of(language):
        text, empty = row.text, [""] * (language.number_of_forms if row.text.plural else 1)
        forms = tuple(row.forms or empty)
        yield CatalogEntry(0, text.english, text.plural, text.context, forms, text.sources)


def catalog_text(language: Language) -> str:
    """All texts with their translations as a catalog of gettext."""
    lines = catalog_lines(
        _entries(language), language=locale_of(language), plural_forms=language.plural_forms
    )
    return "".join(lines)


def csv_file(language: Language) -> str:
    """All texts with their translations as CSV."""
    columns = _translation_columns(language)
    rows: list[Sequence[object]] = [("used in", *_SOURCE, *columns)]
    for entry in _entries(language):
        forms = [*entry.forms, *[""] * (len(columns) - len(entry.forms))]
        rows.append((" ".join(entry.sources), entry.context, entry.english, entry.plural, *forms))
    return csv_text(rows)


def _translation_columns(language: Language) -> list[str]:
    return ["translation", *(f"translation {n}" for n in range(2, language.number_of_forms + 1))]


def upload(language: Language, user: User, name: str, content: bytes) -> int:
    """Save the translations of a file; returns how many texts changed. Empty translations change nothing.

    Raises:
        FileFaultsError: nothing is saved; names what is wrong, with its line.
    """
    lines: dict[str, int] = {}
    sent: dict[str, Sequence[str]] = {}
    found: list[FileFault] = []
    for entry in _read(language, name, content):
        key = key_of(entry.english, entry.plural, entry.context)
        if key not in worker_texts():
            says = _("Workers cannot read “%(text)s” in this version of Turnwise. Download the texts anew.")
            found.append(FileFault(entry.line, says % {"text": entry.english[:60]}))
        elif key in lines:
            says = _("This text is in the file twice, first in line %(line)d.")
            found.append(FileFault(entry.line, says % {"line": lines[key]}))
        elif any(map(str.strip, entry.forms)) and not entry.is_fuzzy:
            sent[key] = entry.forms
        lines.setdefault(key, entry.line)
        check_size(entry.line, lines, found)
    for key, why in faults_of(language, sent).items():
        found += [FileFault(lines[key], says) for says in why]
    if found:
        raise FileFaultsError(sorted(found, key=lambda each: each.line))
    return save_translations(language, user, sent, origin=Revision.Origin.FILE)


def _read(language: Language, name: str, content: bytes) -> Iterable[CatalogEntry]:
    """The entries of a file, by the ending of its name."""
    if len(content) > MOST_BYTES:
        raise FileFaultsError([too_large()])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise _fault(line, _("The file is not in UTF-8. Save it as UTF-8.")) from None
    if "\x00" in text:
        raise _fault(text[: text.index("\x00")].count("\n") + 1, _("The file contains a null character."))
    ending = name.lower().rpartition(".")[2]
    if ending == "po":
        return _of_catalog(language, text)
    if ending == "csv":
        return _of_csv(language, text)
    raise _fault(0, _("“%(name)s” is neither a .po nor a .csv file.") % {"name": name[:80]})


def too_large() -> FileFault:
    """The fault of a file with too many bytes."""
    return FileFault(0, _("The file is larger than %(most)d\u00a0MB.") % {"most": MOST_BYTES // 1_000_000})


def _fault(line: int, says: str) -> FileFaultsError:
    return FileFaultsError([FileFault(line, says)])


def _of_catalog(language: Language, text: str) -> Sequence[CatalogEntry]:
    catalog = read_catalog(text)
    if rule := catalog.plural_forms:
        try:
            is_same = is_same_rule(rule, language.plural_forms)
        except ValueError:
            raise _fault(1, _("“%(rule)s” is not a plural rule.") % {"rule": rule[:80]}) from None
        if not is_same:
            says = _("The file has the plural rule “%(rule)s”, but the language has “%(wanted)s”.")
            raise _fault(1, says % {"rule": rule[:120], "wanted": language.plural_forms})
    return catalog.entries


def _of_csv(language: Language, text: str) -> Iterator[CatalogEntry]:
    reader = csv.reader(io.StringIO(text), strict=True)
    columns = _translation_columns(language)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        if missing := [name for name in ("english", columns[0]) if name not in header]:
            raise _fault(1, _("The column “%(name)s” is missing.") % {"name": missing[0]})
        line = reader.line_num + 1
        for values in reader:
            if any(values):
                if len(values) != len(header):
                    says = _("This row has %(n)d cells, but the header has %(wanted)d.")
                    raise _fault(line, says % {"n": len(values), "wanted": len(header)})
                yield _row(dict(zip(header, map(original, values), strict=True)), columns, line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise _fault(reader.line_num, _("The file is not CSV: %(why)s") % {"why": error}) from None


def _row(cells: dict[str, str], columns: Sequence[str], line: int) -> CatalogEntry:
    """An entry from a row's cells; a text without plural has only its first translation."""
    context, english, plural = ((cells.get(name) or "").replace("\r\n", "\n") for name in _SOURCE)
    forms = [cells.get(name, "") for name in (columns if plural else columns[:1])]
    return CatalogEntry(line, english, plural, context, tuple(forms))
