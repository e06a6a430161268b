"""Reading and writing of catalogs in the format of gettext (.po), without libraries."""

import re
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass, field

from django.utils.translation import gettext as _

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
MOST_TEXTS, MOST_FAULTS = 20_000, 1_000
"""Reading ends with an error above these, so that a file can fill no memory."""
_LINE = re.compile(r'(?:(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d{1,2})\])?\s+)?"((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
_RULE = re.compile(r"^Plural-Forms:\s*(.*)$", re.MULTILINE)
_CHARSET = re.compile(r"charset=([\w-]+)")


@dataclass(frozen=True, slots=True)
class FileFault:
    """Something wrong in an uploaded file, with its line."""

    line: int
    says: str


class FileFaultsError(Exception):
    """A file that cannot be used; `faults` says why."""

    def __init__(self, faults: list[FileFault]) -> None:
        super().__init__("; ".join(f"line {each.line}: {each.says}" for each in faults))
        self.faults = faults


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A text of a catalog with its translation.

    Attributes:
        line: number of its first line in the file.
        english: the text; its singular if it has a plural.
        plural: the form for other numbers, or "".
        context: what distinguishes it from an equal text, or "".
        forms: the translation's plural forms, or the only one.
        sources: files in which the text is used.
        is_fuzzy: True if the translation is marked as a guess.
    """

    line: int
    english: str
    plural: str
    context: str
    forms: tuple[str, ...]
    sources: tuple[str, ...] = ()
    is_fuzzy: bool = False


@dataclass(frozen=True, slots=True)
class CatalogFile:
    """Texts of a catalog, and the plural rule of its header or ""."""

    entries: list[CatalogEntry]
    plural_forms: str


@dataclass(slots=True)
class _Draft:
    """An entry that is being read."""

    line: int = 0
    parts: dict[str, list[str]] = field(default_factory=dict)
    """Lines of each part; they are joined once, as a part may have a million lines."""
    sources: list[str] = field(default_factory=list)
    is_fuzzy: bool = False
    latest: str = ""

    @property
    def has_gaps(self) -> bool:
        """True if the plural forms are not numbered 0, 1, 2 and so on."""
        numbers = sorted(int(name[7:] or 0) for name in self.parts if name.startswith("msgstr"))
        return numbers != list(range(len(numbers)))

    def entry(self) -> CatalogEntry:
        parts = {name: "".join(lines) for name, lines in self.parts.items()}
        numbered = {name: text for name, text in parts.items() if name.startswith("msgstr")}
        forms = tuple(numbered[name] for name in sorted(numbered, key=lambda each: int(each[7:] or 0)))
        get = parts.get
        return CatalogEntry(
            self.line, get("msgid", ""), get("msgid_plural", ""), get("msgctxt", ""), forms,
            tuple(self.sources), self.is_fuzzy,
        )  # fmt: skip


def read_catalog(text: str) -> CatalogFile:
    """Read a catalog.

    Raises:
        FileFaultsError: names every line that is not of a catalog.
    """
    reader = _Reader()
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        reader.read(number, line.strip())
        check_size(number, reader.entries, reader.faults)
    reader.finish()
    if reader.faults:
        raise FileFaultsError(reader.faults)
    return CatalogFile(reader.entries, reader.plural_forms)


def check_size(line: int, entries: Sized, faults: list[FileFault]) -> None:
    """Stop reading a file with far too many texts or faults.

    Raises:
        FileFaultsError: it has too many; names the line, after the earlier faults.
    """
    if len(entries) > MOST_TEXTS:
        says = _("The file has more than %(most)d texts. Download the texts anew.") % {"most": MOST_TEXTS}
        raise FileFaultsError([*faults, FileFault(line, says)])
    if len(faults) >= MOST_FAULTS:
        raise FileFaultsError([*faults, FileFault(line, _("Reading stopped here: too much is wrong."))])


class _Reader:
    """State of reading a catalog line by line."""

    def __init__(self) -> None:
        self.entries: list[CatalogEntry] = []
        self.faults: list[FileFault] = []
        self.plural_forms = ""
        self.draft = _Draft()

    def read(self, number: int, line: str) -> None:
        if not line or line.startswith("#~"):  # obsolete entries
            return self.finish()
        if line.startswith("#"):
            return self._comment(line)
        found = _LINE.fullmatch(line)
        if found is None:
            self.faults.append(
                FileFault(number, _("This is not a line of a catalog: %(line)s") % {"line": line[:60]})
            )
            return None
        name, index, quoted = found.groups()
        plain = _ESCAPED.sub(lambda escape: _ESCAPES.get(escape[1], escape[0]), quoted)
        if name is None:
            return self._continue(number, plain)
        return self._begin(number, f"{name}[{index}" if index else name, plain)

    def _comment(self, line: str) -> None:
        if "msgstr" in "".join(self.draft.parts):
            self.finish()
        if line.startswith("#:"):
            self.draft.sources += [
                source.rsplit(":", 1)[0] if source[-1:].isdigit() else source for source in line[2:].split()
            ]
        elif line.startswith("#,"):
            self.draft.is_fuzzy = "fuzzy" in line

    def _begin(self, number: int, name: str, text: str) -> None:
        draft = self.draft
        if name in ("msgctxt", "msgid") and any(each.startswith("msgstr") for each in draft.parts):
            self.finish()
            draft = self.draft
        if name in draft.parts:
            self.faults.append(FileFault(number, _("%(name)s stands twice in this entry.") % {"name": name}))
        draft.line = draft.line or number
        draft.parts[name], draft.latest = [text], name

    def _continue(self, number: int, text: str) -> None:
        if not self.draft.latest:
            self.faults.append(FileFault(number, _("This text belongs to no entry.")))
            return
        self.draft.parts[self.draft.latest].append(text)

    def finish(self) -> None:
        draft, self.draft = self.draft, _Draft()
        if not draft.parts:
            return
        entry = draft.entry()
        if not entry.english and "msgid" in draft.parts:
            self._header(entry)
        elif "msgid" not in draft.parts or not entry.forms:
            self.faults.append(FileFault(draft.line, _("This entry needs both msgid and msgstr.")))
        elif draft.has_gaps:
            self.faults.append(FileFault(draft.line, _("Number its plural forms msgstr[0], msgstr[1], ….")))
        else:
            self.entries.append(entry)

    def _header(self, entry: CatalogEntry) -> None:
        header = "".join(entry.forms)
        if rule := _RULE.search(header):
            self.plural_forms = rule[1].strip()
        charset = _CHARSET.search(header)
        if charset and charset[1].lower() not in ("utf-8", "utf8", "charset"):
            says = _("The file is in %(charset)s. Save it as UTF-8.") % {"charset": charset[1]}
            self.faults.append(FileFault(entry.line, says))


def catalog_lines(entries: Iterable[CatalogEntry], *, language: str, plural_forms: str) -> Iterator[str]:
    """Write a catalog, line by line."""
    header = (
        f"Language: {language}\n",
        f"Plural-Forms: {plural_forms}\n",
        "MIME-Version: 1.0\n",
        "Content-Type: text/plain; charset=UTF-8\n",
        "Content-Transfer-Encoding: 8bit\n",
    )
    yield 'msgid ""\nmsgstr ""\n'
    yield from (f"{_quoted(line)}\n" for line in header)
    for entry in entries:
        yield "\n"
        yield from (f"#: {source.replace(' ', '')}\n" for source in entry.sources)
        if entry.context:
            yield f"msgctxt {_quoted(entry.context)}\n"
        yield f"msgid {_quoted(entry.english)}\n"
        if entry.plural:
            yield f"msgid_plural {_quoted(entry.plural)}\n"
            yield from (f"msgstr[{n}] {_quoted(form)}\n" for n, form in enumerate(entry.forms))
        else:
            yield f"msgstr {_quoted(entry.forms[0])}\n"


def _quoted(text: str) -> str:
    for letter, character in (("\\", "\\"), ('"', '"'), ("n", "\n"), ("t", "\t"), ("r", "\r")):
        text = text.replace(character, f"\\{letter}")
    return f'"{text}"'
