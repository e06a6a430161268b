from django.db import migrations

from turnwise.live.sql import LoadSQL


class Migration(migrations.Migration):
    dependencies = [("accounts", "0007_erasure")]

    operations = [
        LoadSQL("accounts", "erasure_never_changes", "begin_erasure", "count_erased", "only_by_erasure")
    ]
