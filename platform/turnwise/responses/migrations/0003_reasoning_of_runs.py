from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("responses", "0002_generation_of_responses"),
    ]

    operations = [
        migrations.AddField(
            model_name="responserun",
            name="stores_reasoning",
            field=models.BooleanField(
                default=False, help_text="The reasoning of the bot is stored with its responses."
            ),
        ),
    ]
