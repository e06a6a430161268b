from django.db import migrations

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0008_erasures_are_logged"),
        ("crowd", "0006_condition"),
        ("responses", "0003_reasoning_of_runs"),
    ]

    operations = [LoadSQL("responses", "response_only_revised")]
