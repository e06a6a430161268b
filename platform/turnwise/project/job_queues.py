"""Queues of jobs by kind, which task waits in which, and the address of their broker."""

from urllib.parse import parse_qs, urlsplit

# By kind, the most urgent first: in a worker of several queues, work of an earlier one goes first.
JOB_QUEUES = (
    "housekeeping",  # quick steps that the timer sends; they use the database alone
    "requests",  # requests to the outside: webhooks, mails, panels
    "computing",  # reports and other figures
    "bots",  # slices of work that ask bots: runs of responses and judges, audits, daily checks
)

QUEUE_OF_TASK = {
    "turnwise.audits.tasks.ask": "bots",
    "turnwise.bots.tasks.replay_canary": "bots",
    "turnwise.judges.tasks.check_drift": "bots",
    "turnwise.judges.tasks.judge": "bots",
    "turnwise.responses.tasks.answer": "bots",
    "turnwise.tasks.self_play.jobs.play": "bots",
    # These start a process of their own.
    "turnwise.bots.tasks.add_small_model": "housekeeping",
    "turnwise.exports.tasks.make_bundle": "housekeeping",
    "turnwise.rehearsals.tasks.rehearse": "housekeeping",
    "turnwise.transcripts.tasks.import_upload": "housekeeping",
}
"""Tasks that the timer or code sends to another queue than "computing"."""


def broker_address(redis: str) -> str:
    """The address of Redis as Celery wants it.

    Celery has a scheme of its own for Unix sockets, and would not check the certificate of a `rediss://` that
    says nothing about it, unlike every other client.
    """
    address = urlsplit(redis)
    if address.scheme == "unix":
        return f"redis+socket{redis.removeprefix('unix')}"
    if address.scheme == "rediss" and "ssl_cert_reqs" not in parse_qs(address.query):
        return address._replace(
            query="&".join(filter(None, (address.query, "ssl_cert_reqs=required")))
        ).geturl()
    return redis
