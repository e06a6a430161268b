from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("responses", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="response",
            name="remarks",
            field=models.JSONField(
                blank=True,
                help_text="Of its filters or service: {texts: […], fallback: whether a prepared sentence was said}.",
                null=True,
            ),
        ),
    ]
