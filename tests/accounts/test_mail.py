"""Mails over a real SMTP connection: invitations, resets, events, and the link that ends them."""

import re
import socketserver
import threading
from collections.abc import Iterator

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from tests.planted import SignIn
from turnwise.accounts.mail import confirm_address, mailbox_of
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot
from turnwise.live.published_events import Event, EventType, publish
from turnwise.webhooks import mails
from turnwise.webhooks.models import Delivery
from turnwise.webhooks.sending import send_due

pytestmark = pytest.mark.django_db


class Mailbox(socketserver.StreamRequestHandler):
    """As much of SMTP as a client needs that sends one mail."""

    received: list[str] = []

    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline():
            if line.upper().startswith(b"DATA"):
                self.wfile.write(b"354 go on\r\n")
                content = b"".join(iter(self.rfile.readline, b".\r\n"))
                self.received.append(content.decode().replace("=\r\n", "").replace("=3D", "="))
            self.wfile.write(b"250 yes\r\n")
            if line.upper().startswith(b"QUIT"):
                return


@pytest.fixture
def received(settings: Settings) -> Iterator[list[str]]:
    """Mails that arrived; mail is on."""
    Mailbox.received = []
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mailbox)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.server_address[1]
    settings.MAIL_FROM = settings.DEFAULT_FROM_EMAIL = "turnwise@example.org"
    yield Mailbox.received
    server.shutdown()
    server.server_close()


def test_an_invitation_is_mailed_and_joining_confirms_the_address(
    received: list[str], ada: User, sign_in: SignIn
) -> None:
    invited = {"whom": "Nina", "role": "researcher", "email": "nina@example.org"}
    page = sign_in(ada).post("/people/invite/", invited).content.decode()

    assert "It was mailed to nina@example.org" in page
    (mail,) = received
    assert "To: nina@example.org" in mail
    (path,) = re.findall(r"http://testserver(/join/[\w-]+/)", mail)
    words = "a quite different phrase 7"
    Client().post(path, {"username": "nina", "password1": words, "password2": words})
    assert mailbox_of(User.objects.get(username="nina")) == "nina@example.org"


def test_a_mail_server_that_is_down_leaves_the_link_to_copy(
    received: list[str], settings: Settings, ada: User, sign_in: SignIn
) -> None:
    settings.EMAIL_PORT = 1
    invited = {"whom": "Nina", "role": "researcher", "email": "nina@example.org"}
    page = sign_in(ada).post("/people/invite/", invited).content.decode()

    assert "could not be sent" in page
    assert "/join/" in page


def test_a_forgotten_password_is_replaced_by_mail(received: list[str], rex: User) -> None:
    confirm_address(rex, "rex@example.org")
    browser = Client()
    browser.post("/password/reset/", {"email": "nobody@example.org"})
    assert received == []
    browser.post("/password/reset/", {"email": "rex@example.org"})

    (mail,) = received
    (path,) = re.findall(r"http://testserver(/password/reset/\S+/)", mail)
    page = browser.get(path, follow=True)
    words = "a quite different phrase 7"
    browser.post(page.redirect_chain[-1][0], {"password1": words, "password2": words})
    assert Client().post("/sign-in/", {"username": "rex", "password": words}).status_code == 302


def failing(bot: Bot) -> None:
    publish(Event(EventType.BOT_FAILING, bot_id=bot.pk, data={"bot": bot.name}, links={"page": "/bots/b/"}))


def test_chosen_events_are_mailed_until_the_link_in_a_mail_ends_them(received: list[str], rex: User) -> None:
    confirm_address(rex, "rex@example.org")
    bot = register_bot(name="b", title="My bot", adapter="scripted", owner=rex)
    failing(bot)
    assert not Delivery.objects.exists()
    mails.choose_events(rex, ["bot.failing"], site="http://testserver")
    failing(bot)
    assert send_due() == 1

    (mail,) = received
    assert "Subject: A bot keeps failing: My bot" in mail
    assert "http://testserver/bots/b/" in mail
    assert Delivery.objects.get().state == Delivery.State.DELIVERED
    (end,) = re.findall(r"List-Unsubscribe: <http://testserver(\S+)>", mail.replace("\r\n ", ""))
    stranger = Client(enforce_csrf_checks=True)
    assert stranger.get("/account/mails/end/none/").status_code == 404
    assert stranger.post(end, {"List-Unsubscribe": "One-Click"}).status_code == 200
    failing(bot)
    assert send_due() == 0


def test_a_mail_that_cannot_be_sent_is_tried_again(
    received: list[str], settings: Settings, rex: User
) -> None:
    settings.EMAIL_PORT = 1
    confirm_address(rex, "rex@example.org")
    mails.choose_events(rex, ["bot.failing"], site="http://testserver")
    failing(register_bot(name="b", title="My bot", adapter="scripted", owner=rex))
    send_due()

    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.attempts) == (Delivery.State.WAITING, 1)
    assert "cannot be reached" in delivery.says
