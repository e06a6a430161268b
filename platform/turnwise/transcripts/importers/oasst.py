"""OpenAssistant's trees of messages: nested trees, or one message per line with its parent.

{"message_tree_id": "t", "prompt": {"message_id": "m", "role": "prompter", "text": "Hi!", "replies": […]}}
{"message_id": "m", "parent_id": null, "message_tree_id": "t", "role": "prompter", "text": "Hi!"}
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from turnwise.transcripts.importers.formats import Conversation, Problem, Source, importer
from turnwise.transcripts.importers.json_records import first_record, records
from turnwise.transcripts.importers.message_roles import of_messages

MOST_PATHS = 500
"""Paths of one tree."""
MOST_DEEP = 500


@dataclass(slots=True)
class _Message:
    """A message of a tree with its replies."""

    id: str
    line: int
    fields: dict[str, Any]
    replies: list["_Message"] = field(default_factory=list)

    @property
    def rank(self) -> float:
        """Place among its siblings by its readers' ranking, the best first; unranked ones last."""
        rank = self.fields.get("rank")
        return float(rank) if isinstance(rank, int | float) else float("inf")


class _TreeError(Exception):
    """A tree cannot be read.

    Attributes:
        line: where.
    """

    def __init__(self, line: int, what: str) -> None:
        self.line = line
        super().__init__(what)


def _looks_like(head: str) -> bool:
    keys = first_record(head).keys()
    return {"message_tree_id", "prompt"} <= keys or {"message_id", "parent_id", "role", "text"} <= keys


@importer(
    "oasst",
    title="OASST trees: the main line of each (JSON Lines, Parquet)",
    looks_like=_looks_like,
    keys=("message_tree_id", "message_id", "parent_id", "prompt", "role", "text", "replies"),
)
def read_main_lines(source: Source) -> Iterator[Conversation | Problem]:
    """Read one conversation per tree: from its prompt always on with the best ranked reply, or the first."""
    for root in _trees(source):
        yield root if isinstance(root, Problem) else _conversation(root.id, _main_line(root))


@importer(
    "oasst-paths",
    title="OASST trees: each path to a last message (JSON Lines, Parquet)",
    looks_like=lambda _: False,
)
def read_paths(source: Source) -> Iterator[Conversation | Problem]:
    """Read one conversation per path; paths of a tree share their first turns."""
    for root in _trees(source):
        if isinstance(root, Problem):
            yield root
            continue
        paths = _paths(root)
        if len(paths) > MOST_PATHS:
            yield Problem(
                root.line,
                f"The tree has {len(paths):,} paths; {MOST_PATHS} can be read. Import its main line.",
            )
            continue
        for path in paths:
            yield _conversation(path[-1].id, path)


def _conversation(id_: str, path: list[_Message]) -> Conversation | Problem:
    return of_messages(
        id_, path[0].line, [each.fields for each in path], text_key="text", details=_details(path)
    )


def _details(path: list[_Message]) -> dict[str, str]:
    language, tree = path[0].fields.get("lang"), path[0].id
    return {"tree": tree} | ({"language": language[:20]} if isinstance(language, str) else {})


def _main_line(root: _Message) -> list[_Message]:
    path = [root]
    while path[-1].replies:
        path.append(min(path[-1].replies, key=lambda each: each.rank))
    return path


def _paths(root: _Message) -> list[list[_Message]]:
    found, waiting = list[list[_Message]](), [[root]]
    while waiting and len(found) <= MOST_PATHS:
        path = waiting.pop()
        if not path[-1].replies:
            found.append(path)
        waiting += [[*path, reply] for reply in reversed(path[-1].replies)]
    return found


def _trees(source: Source) -> Iterator[_Message | Problem]:
    """Yield the root of each tree; messages of flat files are put together first."""
    flat = dict[str, _Message]()
    for found in records(source):
        if isinstance(found, Problem):
            yield found
            continue
        line, record = found
        if "prompt" in record:
            yield _nested(line, record["prompt"])
        elif isinstance(record.get("message_id"), str):
            message = _Message(record["message_id"], line, record)
            first = flat.setdefault(message.id, message)
            if first is not message:
                yield Problem(line, f"Message “{message.id[:60]}” is there already, from line {first.line}.")
        else:
            yield Problem(
                line, "This line has neither “prompt” nor “message_id”, so it is no part of a tree."
            )
    yield from _joined(flat)


def _nested(line: int, prompt: object) -> _Message | Problem:
    """Root of a tree whose replies stand within their message."""
    try:
        root = _message(line, prompt)
        waiting = [(root, {root.id})]
        while waiting:
            message, above = waiting.pop()
            if len(above) > MOST_DEEP:
                raise _TreeError(line, f"The tree is deeper than {MOST_DEEP} messages.")
            replies = message.fields.get("replies") or []
            if not isinstance(replies, list):
                raise _TreeError(line, f"The replies of message “{message.id[:60]}” are not a list.")
            for each in replies:
                reply = _message(line, each)
                if reply.id in above:
                    raise _circle(line, reply.id)
                message.replies.append(reply)
                waiting.append((reply, above | {reply.id}))
    except _TreeError as error:
        return Problem(error.line, str(error))
    return root


def _message(line: int, value: object) -> _Message:
    if not isinstance(value, dict) or not isinstance(value.get("message_id"), str):
        raise _TreeError(line, "A message of the tree is not an object with “message_id”, “role” and “text”.")
    return _Message(value["message_id"], line, value)


def _circle(line: int, id_: str) -> _TreeError:
    return _TreeError(
        line, f"The tree has a circle: message “{id_[:60]}” replies to itself. Correct its parent."
    )


def _joined(flat: dict[str, _Message]) -> Iterator[_Message | Problem]:
    """Put messages under their parents; trees with a missing parent or a circle are problems."""
    roots = []
    for message in flat.values():
        parent = message.fields.get("parent_id")
        if parent is None or parent == "":
            roots.append(message)
        elif str(parent) in flat:
            flat[str(parent)].replies.append(message)
        else:
            yield Problem(
                message.line,
                f"Message “{message.id[:60]}” replies to “{str(parent)[:60]}”, which is not in the file. Add "
                "it.",
            )
    reached = set[str]()
    for root in roots:
        waiting = [root]
        while waiting:
            each = waiting.pop()
            reached.add(each.id)
            waiting += each.replies
        yield root
    yield from _circles(flat, reached)


def _circles(flat: dict[str, _Message], reached: set[str]) -> Iterator[Problem]:
    """Yield a problem for each circle: from its messages, no parent leads to a prompt."""
    for message in flat.values():
        seen = set[str]()
        each: _Message | None = message
        while each is not None and each.id not in reached and each.id not in seen:
            seen.add(each.id)
            each = flat.get(str(each.fields.get("parent_id")))
        if each is not None and each.id in seen:
            error = _circle(each.line, each.id)
            yield Problem(error.line, str(error))
        reached |= seen
