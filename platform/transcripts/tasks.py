import subprocess
from threading import Thread

from celery import shared_task

from live.apart import left_alone


@shared_task
def bring_in(record_id: int) -> None:
    process = started(record_id)
    Thread(target=process.wait, daemon=True).start()  # else it stays in the table of processes when it ends


def started(record_id: int) -> "subprocess.Popen[bytes]":
    """A process that imports an upload: large ones take minutes, in which the worker has other jobs to do."""
    return left_alone("-m", "django", "import_upload", str(record_id))
