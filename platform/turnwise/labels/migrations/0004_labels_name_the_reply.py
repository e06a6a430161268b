from django.db import migrations

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    dependencies = [
        ("labels", "0003_plain_help_texts"),
        ("dialogues", "0005_reply_versions"),
    ]

    operations = [
        # Its parameters have changed, so it cannot be replaced.
        migrations.RunSQL("DROP FUNCTION IF EXISTS labels_record_label", migrations.RunSQL.noop),
        LoadSQL("labels", "record_label"),
    ]
