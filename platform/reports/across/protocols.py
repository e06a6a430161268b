"""The protocols of studies, as the comparison of studies tells them."""

from collections import Counter
from collections.abc import Sequence

from reports.across.differences import Protocol
from studies.models import Speaker, Study, Task


def names(studies: Sequence[Study]) -> dict[int, str]:
    """By id, what a comparison calls the studies: their titles, with the code where two share one."""
    shared = Counter(study.title for study in studies)
    return {
        study.pk: f"{study.title} ({study.code})" if shared[study.title] > 1 else study.title
        for study in studies
    }


def protocols(studies: Sequence[Study]) -> list[Protocol]:
    called = names(studies)
    return [_protocol(study, called[study.pk]) for study in studies]


def _protocol(study: Study, name: str) -> Protocol:
    consent = study.consent_versions.last()
    return Protocol(
        study=name,
        aspects={
            "Task": study.get_task_display(),
            "Questions": study.get_question_set_display(),
            **(_judging(study) if study.task == Task.JUDGING else _conversation(study)),
            "Languages": study.language_names or "not set",
            "Pay": study.pay or "none",
        },
        wordings={"Instructions": study.instructions, "Consent text": consent.text if consent else ""},
    )


def _conversation(study: Study) -> dict[str, str]:
    return {
        "Opening": _opening(study),
        "Turns": f"{study.min_turns} to {study.max_turns}",
        "Labels": study.get_labelling_moment_display(),
        "Names of the bots": "hidden" if study.blind else "shown",
    }


def _judging(study: Study) -> dict[str, str]:
    plan = getattr(study, "judging", None)
    return {"Raters": f"{plan.raters_per_item} for each item"} if plan else {}


def _opening(study: Study) -> str:
    who = "the chatbot" if study.opening_speaker == Speaker.BOT else "the worker"
    return f"{who}, with “{study.opening_text}”" if study.opening_text else f"{who}, in their own words"
