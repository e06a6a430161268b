import subprocess

from celery import shared_task

from turnwise.live.subprocesses import left_alone


@shared_task
def rehearse(study_id: int, workers: int) -> None:
    started(study_id, workers)


def started(study_id: int, workers: int) -> "subprocess.Popen[bytes]":
    """A process that rehearses the study and tells its page how far it is.

    One of its own: a rehearsal takes minutes, in which the worker for jobs has others to do.
    """
    return left_alone("-m", "django", "rehearse", str(study_id), "--workers", str(workers), "--noted")
