"""The documentation as pages of the product: contents, HTML, search, and the help page of each view."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from posixpath import normpath

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy as _
from markdown_it import MarkdownIt
from markdown_it.token import Token

from turnwise.live.locations import RESOURCES
from turnwise.live.markdown import ready

ROOT = RESOURCES
PICTURES = ROOT / "docs" / "images"

# In the order in which somebody with a study to run would read. By the file's name below docs/, or its path.
SECTIONS: dict[str, tuple[Promise | str, tuple[str, ...]]] = {
    "studies": (
        _("A study"),
        (
            "first-study", "assistants", "questions", "formatting", "panels", "running", "languages",
            "quality", "payments", "privacy", "rehearsal", "human-human", "wizard-of-oz", "people",
            "glossary",
        ),
    ),
    "protocols": (
        _("Protocols"),
        (
            "static-evaluation", "open-benchmark", "labelling", "pairs", "batteries", "self-play",
            "neural-chat", "topical-chat", "identity",
        ),
    ),
    "bots": (
        _("Bots"),
        (
            "bots", "hosting", "meena", "chatbots/meena/pretrained/README.md", "meena-reading",
            "hierarchical", "chatbots/hierarchical/pretrained/README.md", "topical-chat-models",
            "chatbots/identity/pretrained/README.md",
        ),
    ),
    "results": (
        _("Results"),
        (
            "from-data-to-a-paper", "statistics", "judges", "assisted", "anchors", "comparisons", "papers",
            "publishing",
            "imports", "exports", "evaluation/data/README.md", "api", "client", "webhooks",
        ),
    ),
    "running": (
        _("Running Turnwise"),
        (
            "install", "deploy", "upgrading", "settings", "monitoring", "security", "reliability",
            "performance",
        ),
    ),
    "making": (
        _("How it is made"),
        (
            "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md",
            *sorted(f"decisions/{each.stem}" for each in (ROOT / "docs" / "decisions").glob("*.md")),
        ),
    ),
}  # fmt: skip

MOST_FOUND = 40
LONGEST_SEARCH = 80
_AROUND = 90


@dataclass(frozen=True)
class Heading:
    level: int
    text: str
    anchor: str


@dataclass(frozen=True)
class Page:
    name: str
    title: str
    html: SafeString
    headings: tuple[Heading, ...]
    passages: tuple[tuple[Heading, str], ...]
    links: tuple[str, ...]

    def get_absolute_url(self) -> str:
        return reverse("manual:page", kwargs={"name": self.name})


@dataclass(frozen=True)
class SearchResult:
    page: Page
    heading: Heading
    excerpt: str


def name_of(file: str) -> str:
    """Name of a page in its address: `pairs`, `architecture`, `chatbots/meena/pretrained`."""
    return file.removesuffix("/README.md").removesuffix(".md").lower()


def _path_of(file: str) -> Path:
    return ROOT / file if file.endswith(".md") else ROOT / "docs" / f"{file}.md"


FILES = {name_of(file): _path_of(file) for _title, files in SECTIONS.values() for file in files}
_NAMES = {path.relative_to(ROOT).as_posix(): name for name, path in FILES.items()}


def page(name: str) -> Page:
    """The page of that name.

    Raises KeyError where there is none.
    """
    path = FILES[name]
    return _read(name, path, path.stat().st_mtime_ns)


def sections() -> list[tuple[str, str, list[Page]]]:
    """Key, title and pages of each part of the manual."""
    return [
        (key, str(title), [page(name_of(file)) for file in files]) for key, (title, files) in SECTIONS.items()
    ]


def find(words: str) -> list[SearchResult]:
    """The passages that have all these words, those with a word in their heading first; 40 at most."""
    wanted = words[:LONGEST_SEARCH].casefold().split()
    if not wanted:
        return []
    ranked = sorted(_matches(wanted), key=lambda each: -each[0])
    return [found for _, found in ranked[:MOST_FOUND]]


def _matches(wanted: list[str]) -> Iterator[tuple[int, SearchResult]]:
    for name in FILES:
        here = page(name)
        for heading, text in here.passages:
            folded, titled = text.casefold(), f"{here.title} {heading.text}".casefold()
            if all(word in folded or word in titled for word in wanted):
                yield (
                    sum(word in titled for word in wanted),
                    SearchResult(here, heading, _excerpt(text, wanted)),
                )


def _excerpt(text: str, wanted: list[str]) -> str:
    first = min((at for word in wanted if (at := text.casefold().find(word)) >= 0), default=0)
    start, end = max(0, first - _AROUND), first + 2 * _AROUND
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")


# List of files at a section's heading, too long for the contents.
_OF_FILES = re.compile(r" \([^()]*/[^()]*\)$")

# --- one file ----------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _read(name: str, path: Path, _changed: int) -> Page:
    folder = path.relative_to(ROOT).parent
    tokens = _MARKDOWN.parse(path.read_text(encoding="utf-8"))
    links: list[str] = []
    for token in tokens:
        for each in token.children or []:
            _rewrite_link(each, folder, links)
    headings = _headings(tokens)
    passages = tuple(_passages(tokens, headings))
    body = tokens[3:] if headings and headings[0].level == 1 else tokens
    return Page(
        name=name,
        title=headings[0].text,
        html=mark_safe(_MARKDOWN.renderer.render(body, _MARKDOWN.options, {})),  # our own files
        headings=tuple(
            replace(each, text=_OF_FILES.sub("", each.text)) for each in headings if each.level == 2
        ),
        passages=passages,
        links=tuple(links),
    )


def _headings(tokens: list[Token]) -> list[Heading]:
    """All headings in order; each gets its anchor on the way."""
    found: list[Heading] = []
    taken: dict[str, int] = {}
    for at, token in enumerate(tokens):
        if token.type != "heading_open":
            continue
        text = _text(tokens[at + 1])
        anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        taken[anchor] = taken.get(anchor, -1) + 1
        anchor += f"-{taken[anchor]}" if taken[anchor] else ""
        token.attrSet("id", anchor)
        found.append(Heading(int(token.tag[1]), text, anchor))
    return found


def _passages(tokens: list[Token], headings: list[Heading]) -> Iterator[tuple[Heading, str]]:
    """Each heading with the text below it."""
    above = iter(headings)
    heading, texts, in_heading = next(above), list[str](), True
    for token in tokens[1:]:
        if token.type == "heading_open":
            yield heading, " ".join(texts)
            heading, texts, in_heading = next(above), [], True
        elif token.type == "heading_close":
            in_heading = False
        elif token.type == "inline" and not in_heading:
            texts.append(_text(token))
        elif token.type in ("fence", "code_block"):
            texts.append(" ".join(token.content.split()))
    yield heading, " ".join(texts)


def _text(inline: Token) -> str:
    pieces = (" " if "break" in each.type else each.content for each in inline.children or [])
    return "".join(pieces).strip()


def _rewrite_link(token: Token, folder: PurePosixPath | Path, links: list[str]) -> None:
    """Links to other files, and pictures, lead to their pages here."""
    where = "href" if token.type == "link_open" else "src" if token.type == "image" else ""
    target = str(token.attrGet(where) or "") if where else ""
    if not target or "://" in target or target.startswith("#"):
        return
    file, _, anchor = target.partition("#")
    path = normpath(f"{folder.as_posix()}/{file}")
    if where == "src":
        token.attrSet(where, reverse("manual:picture", kwargs={"name": PurePosixPath(path).name}))
        token.attrSet("loading", "lazy")
    elif name := _NAMES.get(path):
        links.append(f"{name}#{anchor}" if anchor else name)
        token.attrSet(where, reverse("manual:page", kwargs={"name": name}) + (f"#{anchor}" if anchor else ""))
    else:
        links.append(target)


_MARKDOWN = ready(MarkdownIt("commonmark", {"html": False}).enable("table"))
# Wide tables scroll in a box of their own, which the keyboard reaches.
_MARKDOWN.add_render_rule(
    "table_open", lambda *_: '<div class="scroll" tabindex="0" role="group">\n<table>\n'
)
_MARKDOWN.add_render_rule("table_close", lambda *_: "</table>\n</div>\n")


# By namespace, or by page where the pages of one namespace are about different things. Tasks name their own.
HELP = {
    "accounts": "people",
    "accounts:tokens": "api",
    "accounts:make_token": "api",
    "accounts:drop_token": "api",
    "acceptance": "topical-chat",
    "audits": "identity",
    "bots": "bots",
    "comparisons": "comparisons",
    "comparisons:judge_sweep": "meena",
    "comparisons:plan": "statistics",
    "comparisons:sweep": "meena",
    "comparisons:sweeps": "meena",
    "contexts": "static-evaluation",
    "crowd": "panels",
    "crowd:limits": "running",
    "crowd:payments": "payments",
    "dialogues": "running",
    "experts": "quality",
    "groups": "people",
    "exports": "exports",
    "judges": "judges",
    "judging": "labelling",
    "knowledge": "topical-chat",
    "labels": "labelling",
    "languages": "languages",
    "monitoring": "running",
    "operating": "wizard-of-oz",
    "privacy": "privacy",
    "publications": "publishing",
    "quality": "quality",
    "questionnaires": "questions",
    "questions": "questions",
    "rehearsals": "rehearsal",
    "reports": "statistics",
    "reports:home": "running",
    "reports:overview": "running",
    "reports:studies": "running",
    "responses": "static-evaluation",
    "transcripts": "imports",
    **dict.fromkeys(("studies:sharing", "studies:transfer", "studies:hand_over"), "people"),
    "system": "monitoring",
    "trash": "running",
    "webhooks": "webhooks",
    "workspace": "running",
    # Pages of django-allauth have no namespace.
    **dict.fromkeys(
        (
            "account_change_password", "account_confirm_email", "account_email", "account_logout",
            "account_reauthenticate", "mfa_activate_totp", "mfa_add_webauthn", "mfa_deactivate_totp",
            "mfa_download_recovery_codes", "mfa_edit_webauthn", "mfa_generate_recovery_codes", "mfa_index",
            "mfa_list_webauthn", "mfa_reauthenticate", "mfa_reauthenticate_webauthn", "mfa_remove_webauthn",
            "mfa_view_recovery_codes", "socialaccount_connections", "usersessions_list",
        ),
        "people",
    ),
}  # fmt: skip


def register_help(page: str, *, namespace: str) -> None:
    """Lead from the pages of a namespace to this page of the manual.

    Raises:
        ValueError: the manual has no such page.
    """
    if page not in FILES:
        raise ValueError(f"The manual has no page “{page}”. Its pages are: {', '.join(FILES)}.")
    HELP[namespace] = page


def help_of(request: HttpRequest) -> dict[str, str]:
    """Context processor with the address of *Help* for this page, else that of the contents."""
    here = request.resolver_match
    name = here.view_name if here else ""
    about = HELP.get(name) or HELP.get(name.partition(":")[0])
    return {"help_url": reverse("manual:page", kwargs={"name": about}) if about else reverse("manual:index")}
