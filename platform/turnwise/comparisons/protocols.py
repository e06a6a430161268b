"""The protocols of studies, as the comparison of studies tells them."""

from collections import Counter
from collections.abc import Sequence

from turnwise.comparisons.differences import Protocol
from turnwise.reports.reported import reported
from turnwise.studies.models import Study


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
    consents, task = list(study.consent_versions.all()), reported(study)
    return Protocol(
        study=name,
        aspects={
            "Task": task.title,
            "Questions": "; ".join(dict.fromkeys(ask.title for ask in study.asked)),
            **task.protocol(study),
            "Primary analysis": study.get_primary_analysis_display(),
            "Languages": study.language_names or "not set",
            "Pay": study.pay or "none",
        },
        wordings={
            "Instructions": study.instructions,
            "Debriefing": study.debriefing,
            "Consent text": consents[-1].text if consents else "",
        },
    )
