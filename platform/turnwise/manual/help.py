"""Which page of the manual explains what somebody looks at."""

from django.http import HttpRequest
from django.urls import reverse

from turnwise.manual.pages import FILES

# By namespace, or by page where the pages of one namespace are about different things. Tasks name their own.
HELP = {
    "accounts": "people",
    "accounts:tokens": "api",
    "accounts:make_token": "api",
    "accounts:drop_token": "api",
    "acceptance": "topical-chat",
    "audits": "identity",
    "bots": "bots",
    "comparisons": "comparisons",
    "comparisons:judge_sweep": "meena",
    "comparisons:sweep": "meena",
    "comparisons:sweeps": "meena",
    "contexts": "static-evaluation",
    "crowd": "panels",
    "crowd:limits": "running",
    "crowd:payments": "payments",
    "exports": "exports",
    "judging": "labelling",
    "knowledge": "topical-chat",
    "labels": "labelling",
    "monitoring": "running",
    "operating": "wizard-of-oz",
    "privacy": "privacy",
    "quality": "quality",
    "questionnaires": "questions",
    "questions": "questions",
    "rehearsals": "rehearsal",
    "reports": "statistics",
    "reports:home": "running",
    "reports:overview": "running",
    "reports:studies": "running",
    "responses": "static-evaluation",
    "transcripts": "imports",
    "trash": "running",
    "workspace": "running",
}


def helps(page: str, *, namespace: str) -> None:
    """Lead from the pages of a namespace to this page of the manual.

    Raises:
        ValueError: the manual has no such page.
    """
    if page not in FILES:
        raise ValueError(f"The manual has no page “{page}”. Its pages are: {', '.join(FILES)}.")
    HELP[namespace] = page


def help_of(request: HttpRequest) -> dict[str, str]:
    """Where *Help* leads from this page: to what it is about, else to the manual's first page."""
    here = request.resolver_match
    name = here.view_name if here else ""
    about = HELP.get(name) or HELP.get(name.partition(":")[0])
    return {"help_url": reverse("manual:page", kwargs={"name": about}) if about else reverse("manual:index")}
