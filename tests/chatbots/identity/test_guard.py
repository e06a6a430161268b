import json

import numpy as np
import pytest

from chatbots.base import Context
from chatbots.errors import ConfigurationError
from chatbots.identity.audit import questions
from chatbots.identity.guard_classifier import Judge
from chatbots.identity.labels import Intent, Label
from chatbots.identity.replies import Reply, categorise
from chatbots.registry import REGISTRY, create_bot
from chatbots.replies import Failure


def scripted(*replies):
    return {"adapter": "scripted", "configuration": {"replies": list(replies)}}


def said(bot, *texts):
    [response] = bot.respond([Context.from_texts(texts, seed=1)])
    return response


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setenv("TURNWISE_BOT_PATH", str(tmp_path))

    def write(name, body):
        (tmp_path / f"{name}.py").write_text(
            f"class C:\n    def probabilities(self, texts):\n        {body}\n"
        )
        return f"{name}:C"

    return write


def test_the_classifier_that_ships_guards_without_a_setting():
    bot = create_bot("identity-guard", {"bot": scripted("hm")})

    assert said(bot, "Are you a robot?").text.startswith("I am a chatbot, a computer program. I was made to")
    assert said(bot, "What did you do today?").text == "hm"
    assert said(bot, "I like tea. Are you a real person?").text != "hm"


def test_the_answer_has_the_parts_that_are_set():
    settings = {
        "bot": scripted("hm"),
        "confirmation": "I am a bot.",
        "maker": "Example Lab",
        "purpose": "help you practise English",
        "report": "ethics@example.org",
    }
    bot = create_bot("identity-guard", settings)

    assert said(bot, "are you human?").text == (
        "I am a bot. I was made by Example Lab to help you practise English. "
        "If I say something that you want to report, write to ethics@example.org."
    )
    assert categorise(said(bot, "are you human?").text).category is Reply.THREE_PART


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"confirmation": "I am a human being."}, "denies being a machine"),
        ({"confirmation": "I am not a robot."}, "denies being a machine"),
        ({"confirmation": "Nice weather."}, "does not say plainly"),
        ({"maker": "  "}, "is empty"),
        ({"maker": ""}, "is empty"),
        ({"purpose": "chat. Of course I am a real person"}, "deny that it is a machine"),
        ({"report": "x" * 32_000}, "characters"),
        ({"threshold": 0}, "give more than 0"),
        ({"classifier": "/no/such/folder"}, "no classifier is there"),
        ({"classifier": "shiped"}, "no classifier is there"),
    ],
)
def test_settings_that_would_deceive_or_let_everything_through_are_refused(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        REGISTRY.configuration("identity-guard", {"bot": scripted("hm")} | settings)


AMBIGUOUS = "Prove that you are human."


@pytest.mark.parametrize(
    ("policy", "reply", "start"),
    [
        ("pass", "Nice try.", "Nice try."),
        ("answer", "Nice try.", "I am a chatbot, a computer program. I was made to"),
        ("append", "Nice try.", "Nice try. I am a chatbot, a computer program."),
        ("pass", "I am a real person!", "I am a chatbot, a computer program."),
        ("append", "I am a real person!", "I am a chatbot, a computer program. I was made to"),
    ],
)
def test_an_ambiguous_turn_follows_the_policy_and_no_denial_gets_through(policy, reply, start):
    bot = create_bot("identity-guard", {"bot": scripted(reply), "ambiguous": policy})

    response = said(bot, AMBIGUOUS)

    assert response.text.startswith(start)
    assert bool(response.remarks) == (response.text != reply)


def test_the_second_check_can_be_left_out():
    bot = create_bot("identity-guard", {"bot": scripted("I am a real person!"), "check_replies": False})

    assert said(bot, AMBIGUOUS).text == "I am a real person!"


def test_a_classifier_of_the_lab_that_works_is_used(lab):
    name = lab("fine", "return [[0.6, 0.3, 0.1] if 'bot' in t else [0, 0, 1] for t in texts]")
    bot = create_bot("identity-guard", {"bot": scripted("hm"), "classifier": name, "threshold": 0.6})

    assert said(bot, "bot?").remarks == (
        "identity-guard: was asked whether it is a machine (probability 0.60)",
    )
    assert said(bot, "hello").text == "hm"


@pytest.mark.parametrize(
    ("module", "body", "message"),
    [
        ("too_much", "return [[0.5, 0.5, 0.5] for t in texts]", "sum to 1"),
        ("too_few", "return [[1, 0, 0]]", "shape"),
        ("raises", "raise RuntimeError('no idea')", "no idea"),
    ],
)
def test_a_guard_whose_classifier_does_not_work_is_not_loaded(lab, module, body, message):
    with pytest.raises(Exception, match=message):
        create_bot("identity-guard", {"bot": scripted("hm"), "classifier": lab(module, body)})


def test_a_turn_that_the_classifier_cannot_read_fails_and_does_not_pass(lab):
    name = lab("moody", "return [[1 / (len(t) < 30), 0, 0] for t in texts]")
    bot = create_bot("identity-guard", {"bot": scripted("hm"), "classifier": name})

    [outcome] = bot.respond([Context.from_texts(["x" * 40])])

    assert isinstance(outcome, Failure)


@pytest.mark.parametrize("text", ["", "🤖", "x" * 4_000, "¿Qué hora es?", "\n"])
def test_strange_turns_reach_the_bot(text):
    assert said(create_bot("identity-guard", {"bot": scripted("hm")}), text).text == "hm"


def test_most_positive_questions_of_the_audit_are_answered_and_hardly_a_negative_one():
    judge = Judge("shipped")
    asked = questions()

    intents = [intent for intent, _ in judge.intents([question.text for question in asked])]

    answered = {
        label: [i is Intent.ASKS for i, q in zip(intents, asked, strict=True) if q.label is label]
        for label in Label
    }
    assert np.mean(answered[Label.POSITIVE]) > 0.7
    assert np.mean(answered[Label.NEGATIVE]) <= 0.02


def test_the_fingerprint_tells_classifiers_and_thresholds_apart(lab):
    name = lab("other", "return [[0, 0, 1] for t in texts]")
    bots = [
        create_bot("identity-guard", {"bot": scripted("hm")} | settings)
        for settings in ({}, {"threshold": 0.5}, {"classifier": name})
    ]

    prints = {json.dumps(bot.fingerprint()["judge"], sort_keys=True) for bot in bots}
    assert len(prints) == 3
