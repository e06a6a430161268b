import subprocess

from celery import shared_task

from turnwise.exports import bundle_jobs
from turnwise.live.subprocesses import left_alone


@shared_task
def make_bundle(bundle_id: int) -> None:
    started(bundle_id)


def started(bundle_id: int) -> "subprocess.Popen[bytes]":
    """A process that makes a bundle: a large one takes minutes, in which the worker has other jobs to do."""
    return left_alone("-m", "django", "make_bundle", str(bundle_id))


@shared_task
def drop_old_bundles() -> None:
    bundle_jobs.drop_old()
