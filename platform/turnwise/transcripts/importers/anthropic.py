"""Messages of Anthropic's API: the system message beside the list, contents in blocks.

{"system": "Be brief.", "messages": [{"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}]}
"""

from collections.abc import Iterator

from turnwise.transcripts.importers.formats import Conversation, Problem, Source, importer
from turnwise.transcripts.importers.json_records import first_record, has_list, records
from turnwise.transcripts.importers.openai import conversation_of, is_anthropic


def _looks_like(head: str) -> bool:
    return has_list(head, "messages", "role") and is_anthropic(first_record(head))


@importer(
    "anthropic",
    title="Anthropic messages (JSON Lines, JSON array, Parquet)",
    looks_like=_looks_like,
    keys=("messages", "role", "content", "system"),
)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Read one conversation per object; blocks of thinking become the reasoning of their reply."""
    for found in records(source):
        yield found if isinstance(found, Problem) else conversation_of(*found)
