from django.db import migrations

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    dependencies = [("accounts", "0008_erasures_are_logged"), ("dialogues", "0010_lease_on_battles")]

    operations = [LoadSQL("dialogues", "turn_only_by_choice", "reply_version_only_chosen")]
