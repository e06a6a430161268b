import subprocess

from celery import shared_task

from turnwise.live.subprocesses import start_detached


@shared_task
def import_upload(record_id: int) -> None:
    start_import(record_id)


def start_import(record_id: int) -> "subprocess.Popen[bytes]":
    """Start a detached process that imports an upload, so that it does not block the job worker."""
    return start_detached("-m", "django", "import_upload", str(record_id))
