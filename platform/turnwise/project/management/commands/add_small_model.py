from typing import Any

from django.core.management.base import BaseCommand

from turnwise.bots.small_model.services import add
from turnwise.studies.demo_studies import join_demo


class Command(BaseCommand):
    help = (
        "Fetch the small language model that the page Bots offers, and register its bot. "
        "The job worker runs it."
    )
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        add(then=join_demo)
