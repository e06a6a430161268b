from django.db.models import Count, QuerySet

from responses.models import Response
from responses.queries import that_count
from studies.models import Study


def written_and_wanted(studies: QuerySet[Study]) -> dict[int, tuple[int, int]]:
    """Of each writing study, by its key: responses written, and how many are wanted."""
    plans = {study.pk: study.writing.wanted for study in studies.filter(writing__isnull=False)}
    responses = that_count(Response.objects.filter(run__study__in=plans))
    counted = responses.values_list("run__study").annotate(n=Count("pk"))
    written = dict(counted.order_by())
    return {pk: (written.get(pk, 0), wanted) for pk, wanted in plans.items()}
