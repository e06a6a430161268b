"""Which page of the manual explains what somebody looks at."""

from django.http import HttpRequest
from django.urls import reverse

# By namespace, or by page where the pages of one namespace are about different things.
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
    "judging_task": "labelling",
    "knowledge": "topical-chat",
    "labels": "labelling",
    "monitoring": "running",
    "operating": "wizard-of-oz",
    "pairs": "pairs",
    "privacy": "privacy",
    "quality": "quality",
    "questions": "questions",
    "rehearsals": "rehearsal",
    "reports": "statistics",
    "responses": "static-evaluation",
    "self_play": "self-play",
    "transcripts": "imports",
    "two_people": "human-human",
    "writing": "static-evaluation",
}


def help_of(request: HttpRequest) -> dict[str, str]:
    """Where *Help* leads from this page: to what it is about, else to the manual's first page."""
    here = request.resolver_match
    name = here.view_name if here else ""
    about = HELP.get(name) or HELP.get(name.partition(":")[0])
    return {"help_url": reverse("manual:page", kwargs={"name": about}) if about else reverse("manual:index")}
