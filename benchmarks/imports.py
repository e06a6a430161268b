"""Time and memory of a large import, beside a bare read of the same bytes.

    PYTHONPATH=.:platform python benchmarks/imports.py [--conversations 100000]

Writes conversations of four turns as OpenAI messages, uploads them into a study of a database of its own,
and imports them in a process as the page has it done (`manage.py import_upload`). Prints JSON: seconds of the
bare read (lines parsed as JSON), of the preview and of the import, by the clock and of the processor, the
largest resident memory of the import's process as the kernel counted it, and how often its progress was seen
to move. Seconds of the processor can be compared on a busy machine, too; they leave out the database's.
"""

import argparse
import json
import os
import subprocess
import time
from io import BytesIO
from typing import Any

from benchmarks.services import services


def content(conversations: int) -> bytes:
    """Conversations of four turns of ordinary length, as JSON Lines."""
    lines = []
    for number in range(conversations):
        turns = [
            ("user", f"Could you recommend book {number} for a rainy weekend, please?"),
            ("assistant", "Sure. Do you prefer something calm or something tense? " * 2),
            ("user", "Calm, please. I have read too many thrillers this year."),
            ("assistant", f"Then try travel diary {number}; they read slowly and end well. " * 2),
        ]
        messages = [{"role": role, "content": text} for role, text in turns]
        lines.append(json.dumps({"id": f"c{number}", "messages": messages}))
    return "\n".join(lines).encode()


def bare_read(data: bytes) -> dict[str, float]:
    """Seconds to parse each line as JSON and nothing else."""
    begun, processor = time.monotonic(), time.process_time()
    for line in BytesIO(data):
        json.loads(line)
    return {
        "bare_read_seconds": round(time.monotonic() - begun, 2),
        "bare_read_cpu_seconds": round(time.process_time() - processor, 2),
    }


def watched(record_id: int) -> dict[str, Any]:
    """Run the import's process, and watch its memory and progress."""
    from turnwise.dialogues.models import TranscriptImport
    from turnwise.live.subprocesses import environment, python_command
    from turnwise.transcripts import import_progress

    record = TranscriptImport.objects.get(pk=record_id)
    begun, seen, ended = time.monotonic(), set[int](), 0
    command = python_command("-m", "django", "import_upload", str(record_id))
    process = subprocess.Popen(command, env=environment())
    while not ended:
        seen.add(import_progress.progress(record).get("done", 0))
        time.sleep(0.2)
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(status)
    return {
        "import_seconds": round(time.monotonic() - begun, 1),
        "import_cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "import_peak_rss_mb": round(usage.ru_maxrss * 1024 / 10**6),
        "progress_steps": len(seen),
    }


def measure(conversations: int) -> dict[str, Any]:
    """Upload, preview and import so many conversations; services must run."""
    from turnwise.accounts.models import User
    from turnwise.dialogues.models import TranscriptImport
    from turnwise.live import subprocesses
    from turnwise.studies.models import Study
    from turnwise.studies.services import save_study
    from turnwise.transcripts import importing

    subprocesses.TIMEOUT_SECONDS = 600  # a busy machine is measured, too
    data = content(conversations)
    owner = User.objects.create_user(f"imports-{time.time_ns()}")
    made = Study(title="Imports", languages=["en"], task="judging")
    study = save_study(made, owner=owner, consent_text="Yes.", targets={}, asks=[])
    draft = importing.upload(study, BytesIO(data), name="chats.jsonl", by=owner)
    begun = time.monotonic()
    seen = importing.preview_of(draft)
    preview = time.monotonic() - begun
    importing.ask_for(
        draft.pk,
        systems={"user": "", "assistant": "assistant"},
        scripted_opening=False,
        language="en",
        parts=seen.conversations,
    )
    found = watched(draft.pk)
    record = TranscriptImport.objects.get(pk=draft.pk)
    return {
        "conversations": record.conversations,
        "turns": record.turns,
        "refusal": record.refusal,
        "megabytes": round(len(data) / 10**6, 1),
        **bare_read(data),
        "preview_seconds": round(preview, 1),
        **found,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--conversations", type=int, default=100_000)
    conversations = parser.parse_args().conversations
    with services(durable=False):
        print(json.dumps(measure(conversations), indent=2))


if __name__ == "__main__":
    main()
