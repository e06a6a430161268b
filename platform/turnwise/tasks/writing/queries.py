from django.db.models import F, QuerySet

from turnwise.responses.models import Response
from turnwise.responses.queries import that_count
from turnwise.studies.models import Study
from turnwise.studies.progress import number_of
from turnwise.studies.tasks import Rows
from turnwise.tasks.writing.models import WritingPlan


def written_and_wanted(studies: QuerySet[Study]) -> Rows:
    """Of each writing study its key, the responses written, and how many are wanted."""
    written = number_of(that_count(Response.objects.all()), "run__study")
    wanted = F("context_version__size") * F("responses_per_context")
    return WritingPlan.objects.filter(study__in=studies).values_list("study", written, wanted)
