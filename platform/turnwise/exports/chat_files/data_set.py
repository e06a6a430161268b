"""A study's conversations as a data set of the Hugging Face hub: a Parquet file with its card."""

import json
import tempfile
import zipfile
from collections.abc import Generator
from itertools import islice
from typing import Any

from turnwise.exports.chat_files.chats import chats
from turnwise.studies.models import Study

_CHUNK = 65_536
PARQUET = "data/train-00000-of-00001.parquet"


def data_set(study: Study) -> Generator[bytes]:
    """A zip archive with a Parquet file and its card README.md, as a data set of the Hugging Face hub."""
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            with tempfile.TemporaryFile() as table:
                conversations = _write_parquet(study, table)
                table.seek(0)
                with archive.open(PARQUET, "w", force_zip64=True) as entry:
                    while chunk := table.read(_CHUNK):
                        entry.write(chunk)
            archive.writestr("README.md", card(study, conversations))
        file.seek(0)
        while chunk := file.read(_CHUNK):
            yield chunk


def _write_parquet(study: Study, file: Any) -> int:
    """Write the conversations as Parquet; returns their number."""
    import pyarrow  # starts a thread
    import pyarrow.parquet

    text = pyarrow.string()
    message = pyarrow.struct([("role", text), ("content", text), ("called", text)])
    schema = pyarrow.schema(
        [(name, text) for name in ("id", "model", "language", "origin")]
        + [("messages", pyarrow.list_(message))]
    )
    conversations = 0
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        found = chats(study)
        while batch := list(islice(found, 500)):
            rows = [
                {
                    "id": chat.id,
                    "model": chat.model,
                    "language": chat.language,
                    "origin": chat.origin,
                    "messages": [
                        {"role": each.role, "content": each.text, "called": each.called or None}
                        for each in chat.messages
                    ],
                }
                for chat in batch
            ]
            conversations += len(rows)
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
    return conversations


def card(study: Study, conversations: int) -> str:
    """Data card of a study's conversations: YAML for the hub, then text."""
    size = next((name for most, name in _SIZES if conversations < most), "n>1T")
    about = {
        "pretty_name": study.title,
        "language": list(study.languages),
        "size_categories": [size],
        "task_categories": ["text-generation"],
        "tags": ["conversational", "human-evaluation"],
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "data/train-*"}]}],
    }
    # JSON is YAML, and quotes every value that needs it.
    head = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in about.items())
    return f"""---
{head}
---

# {study.title.replace(chr(10), " ")}

{conversations:,} finished conversations, exported from Turnwise. Each row has `id`, `model` (the chatbot),
`language`, `origin` (`live`, `imported` or `relayed`) and `messages`, a list of `role`, `content` and
`called`. Roles are `system`, `user`, `assistant` and `tool`; where a message calls a tool, `called` is its
name and `content` its arguments.

Before you publish it, add a license, say how the people who talk were recruited and what they agreed to, and
read the texts for personal data: automatic redaction finds patterns only.
"""


_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
