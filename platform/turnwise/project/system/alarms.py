"""Alarms without Prometheus: a mail or a webhook when a part is not ready, and when it is ready again.

The sockets' server checks what `/readyz` checks. With several such servers each event is sent once, as long
as Redis answers; while it does not, each server sends it.
"""

import json
import logging
import smtplib
import socket
import threading
import urllib.request
from collections.abc import Mapping

from django.conf import settings
from django.core.cache import cache
from django.core.mail import EmailMessage
from redis.exceptions import RedisError

from turnwise.project import health
from turnwise.project.health import Part

log = logging.getLogger(__name__)

EVERY_SECONDS = 30.0
# A part must be found not ready so often in a row: restarts take seconds, and nobody wants a mail for each.
TIMES_IN_A_ROW = 2
SENT_ONCE_WITHIN_SECONDS = 120
SENDING_SECONDS = 10.0


class Watch:
    """State of the parts over time, and what is new about it."""

    def __init__(self) -> None:
        """Begin with all parts ready."""
        self._failures: dict[str, int] = {}
        self._announced: set[str] = set()

    def news(self, parts: Mapping[str, Part]) -> list[str]:
        """Sentences about parts that are now down for good, or ready again."""
        sentences = []
        for name, part in parts.items():
            self._failures[name] = 0 if part.ready else self._failures.get(name, 0) + 1
            if self._failures[name] >= TIMES_IN_A_ROW and name not in self._announced:
                self._announced.add(name)
                sentences.append(f"{name} is not ready: {part.state}.")
            elif part.ready and name in self._announced:
                self._announced.discard(name)
                sentences.append(f"{name} is ready again.")
        return sentences


def send(sentence: str) -> None:
    """Send an alarm by every configured way. An error is logged: there is nobody else to tell."""
    host = settings.ALLOWED_HOSTS[0] if settings.ALLOWED_HOSTS else socket.gethostname()
    text = f"Turnwise at {host}: {sentence} Look at /system/ and the server's log."
    ways = ((settings.ALARM_WEBHOOK, _post, "webhook"), (settings.ALARM_MAIL, _mail, "mail"))
    for to, channel, name in ways:
        try:
            if to:
                channel(to, text)
        except (OSError, smtplib.SMTPException) as error:
            # Its address may hold a secret, and so may the error's text.
            log.error("The alarm was not sent by %s: %s. It said: %s", name, type(error).__name__, sentence)


def _post(address: str, text: str) -> None:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(address, json.dumps({"text": text}).encode(), headers)
    urllib.request.urlopen(request, timeout=SENDING_SECONDS).close()


def _mail(to: str, text: str) -> None:
    EmailMessage(text.partition(". ")[0], text, settings.ALARM_FROM or to, [to]).send()


def is_first(sentence: str) -> bool:
    """True if no other server has sent this alarm just now; also while Redis does not answer."""
    try:
        return bool(cache.add(f"turnwise.alarm.{sentence}", 1, timeout=SENT_ONCE_WITHIN_SECONDS))
    except RedisError:
        return True


_stopping = threading.Event()


def start() -> None:
    """Watch from now on, on a thread of this process, if alarms go anywhere."""
    if settings.ALARM_WEBHOOK or settings.ALARM_MAIL:
        _stopping.clear()
        threading.Thread(target=_watch_until_stopped, name="alarms", daemon=True).start()


def stop() -> None:
    """Watch no longer, as the process ends."""
    _stopping.set()


def _watch_until_stopped() -> None:
    watch = Watch()
    while not _stopping.wait(EVERY_SECONDS):
        try:
            for sentence in watch.news(health.check_parts()):
                if is_first(sentence):
                    send(sentence)
        except Exception:  # the next check may succeed
            log.exception("Alarms were not checked.")
