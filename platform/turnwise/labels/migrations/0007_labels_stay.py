from django.db import migrations

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0008_erasures_are_logged"),
        ("crowd", "0006_condition"),
        ("labels", "0006_pairs_of_growing_conversations"),
    ]

    operations = [LoadSQL("labels", "label_only_revised")]
