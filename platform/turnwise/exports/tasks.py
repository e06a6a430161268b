import subprocess

from celery import shared_task

from turnwise.exports import bundle_jobs
from turnwise.live.subprocesses import start_detached


@shared_task
def make_bundle(bundle_id: int) -> None:
    start_bundle_process(bundle_id)


def start_bundle_process(bundle_id: int) -> "subprocess.Popen[bytes]":
    """Start a process that makes a bundle, so that a large one does not block the job worker for minutes."""
    return start_detached("-m", "django", "make_bundle", str(bundle_id))


@shared_task
def drop_old_bundles() -> None:
    bundle_jobs.delete_old()
