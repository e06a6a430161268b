import io

import pytest
from django.core.management import call_command


@pytest.mark.django_db
def test_every_model_change_has_its_migration() -> None:
    planned = io.StringIO()
    try:
        call_command("makemigrations", check_changes=True, dry_run=True, stdout=planned)
    except SystemExit:
        pytest.fail(f"Run manage.py makemigrations:\n{planned.getvalue()}")
