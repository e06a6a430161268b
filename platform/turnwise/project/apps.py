import django_stubs_ext
from django.apps import AppConfig
from typing_extensions import override

# Lets `ModelAdmin[Study]` and the like, which the type checker wants, exist at run time: before any model.
django_stubs_ext.monkeypatch()


class ProjectConfig(AppConfig):
    name = "turnwise.project"

    @override
    def ready(self) -> None:
        """Every process that knows the models can ask for jobs; those that do not are spared Celery."""
        from turnwise.project import celery  # noqa: F401
