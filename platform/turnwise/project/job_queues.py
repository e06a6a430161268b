"""Queues of jobs by kind, and which task waits in which."""

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
