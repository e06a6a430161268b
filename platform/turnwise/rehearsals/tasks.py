import subprocess

from celery import shared_task

from turnwise.live.subprocesses import start_detached


@shared_task
def rehearse(study_id: int, workers: int) -> None:
    start_process(study_id, workers)


def start_process(study_id: int, workers: int) -> "subprocess.Popen[bytes]":
    """Start a process that rehearses the study and stores its progress.

    It is a separate process, because a rehearsal would block the job worker for minutes.
    """
    return start_detached("-m", "django", "rehearse", str(study_id), "--workers", str(workers), "--noted")
