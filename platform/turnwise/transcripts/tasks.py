import subprocess

from celery import shared_task

from turnwise.live.subprocesses import start_detached


@shared_task
def import_upload(record_id: int) -> None:
    start_import(record_id)


def start_import(record_id: int) -> "subprocess.Popen[bytes]":
    """A process that imports an upload: large ones take minutes, in which the worker has other jobs to do."""
    return start_detached("-m", "django", "import_upload", str(record_id))
