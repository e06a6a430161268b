"""PostgreSQL and Redis for one run of a benchmark."""

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from turnwise.project.supervision.embedded import PostgreSQL, Redis

ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def services(*, durable: bool = True, folder: Path | None = None) -> Iterator[tuple[PostgreSQL, Redis]]:
    """Both started, this process and its children pointed at them, the tables made; all gone at the end.

    With a folder, the data are kept there for the next run.
    """
    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="turnwise-bench-")))
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o711)  # PostgreSQL runs as another user where root runs this
        postgresql, redis = PostgreSQL(folder / "postgresql", durable=durable), Redis(folder / "redis")
        service: PostgreSQL | Redis
        for service in (postgresql, redis):
            service.start()
            stack.callback(service.stop)
        _prepare_settings(folder, postgresql.owner_url, redis.url)
        yield postgresql, redis


def _prepare_settings(folder: Path, database: str, redis: str) -> None:
    """Point this process and its children at the services; make the tables."""
    os.environ |= {
        "DATABASE_URL": database,
        "REDIS_URL": redis,
        "TURNWISE_VAR": str(folder / "var"),
        "SECRET_KEY": secrets.token_urlsafe(50),
        "DJANGO_SETTINGS_MODULE": "turnwise.project.settings",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "platform"), os.environ.get("PYTHONPATH", "")]),
    }
    import django
    from django.conf import settings
    from django.core.management import call_command

    django.setup()
    # The wide floor gets as many threads as the product.
    os.environ["TURNWISE_DATABASE_THREADS"] = str(settings.DIALOGUE_DATABASE_THREADS)
    call_command("migrate", interactive=False, verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
