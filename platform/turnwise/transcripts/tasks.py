import subprocess

from celery import shared_task

from turnwise.live.subprocesses import left_alone


@shared_task
def bring_in(record_id: int) -> None:
    started(record_id)


def started(record_id: int) -> "subprocess.Popen[bytes]":
    """A process that imports an upload: large ones take minutes, in which the worker has other jobs to do."""
    return left_alone("-m", "django", "import_upload", str(record_id))
