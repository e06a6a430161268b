"""Bots around bots: what they change, what they leave alone, and how their settings fail."""

import asyncio

import pytest

from chatbots.base import Bot, BotConfiguration, Context
from chatbots.errors import BotFailedError, ConfigurationError
from chatbots.hosting.resident import Resident
from chatbots.registry import REGISTRY, create_bot
from chatbots.replies import Candidate, Failure, ReplyOutcome, Response, Usage

REPEATED = "I would love to go to Paris too"


def scripted(*replies, **settings):
    return {"adapter": "scripted", "configuration": {"replies": list(replies)} | settings}


class ChoosyBot(Bot):
    """Weighs several replies, given as its settings."""

    class Configuration(BotConfiguration):
        texts: tuple[str, ...]

    max_batch = 7
    max_wait = 0.01
    closed = False

    def respond(self, contexts):
        candidates = tuple(Candidate(text, -n) for n, text in enumerate(self.configuration.texts))
        return [Response(self.configuration.texts[0], candidates, Usage(completion=3)) for _ in contexts]

    def close(self):
        type(self).closed = True


@pytest.fixture(autouse=True)
def _choosy_is_registered(monkeypatch):
    REGISTRY.registered_names()  # those that are found come first
    monkeypatch.setitem(REGISTRY._classes, "choosy", ChoosyBot)


def choosy(*texts):
    return {"adapter": "choosy", "configuration": {"texts": texts}}


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setenv("TURNWISE_BOT_PATH", str(tmp_path))
    return tmp_path


def only(responses):
    [response] = responses
    return response


# --- repetition ----------------------------------------------------------------------------------


def test_another_candidate_is_used_if_the_first_repeats():
    bot = create_bot("repetition-filter", {"bot": choosy(REPEATED, "So do you want to go there soon?", "x")})

    response = only(bot.respond([Context.from_texts(["I would love to go to Japan too"])]))

    assert response.text == "So do you want to go there soon?"
    assert response.usage == Usage(completion=3)
    assert response.candidates[0].text == REPEATED
    assert response.outcome is ReplyOutcome.COMPLETE
    assert response.remarks == (
        "repetition-filter: the first candidate repeats an earlier turn; said another",
    )


def test_a_reply_that_repeats_nothing_is_left_alone():
    bot = create_bot("repetition-filter", {"bot": choosy(REPEATED, "x")})

    response = only(bot.respond([Context.from_texts(["Where do you want to go?"])]))

    assert (response.text, response.usage, response.remarks) == (REPEATED, Usage(completion=3), ())
    assert response.outcome is ReplyOutcome.COMPLETE


def test_fallbacks_are_used_in_order_and_then_the_bot_may_repeat():
    fallbacks = ["Let us talk about something else now", "And what is on your mind today"]
    bot = create_bot("repetition-filter", {"bot": choosy(REPEATED), "fallbacks": fallbacks})
    turns = [REPEATED]

    said = []
    for _ in range(3):
        said.append(only(bot.respond([Context.from_texts(turns)])))
        turns += [said[-1].text, "Really"]

    assert [response.text for response in said] == [*fallbacks, REPEATED]
    assert [response.outcome for response in said] == [
        ReplyOutcome.FALLBACK,
        ReplyOutcome.FALLBACK,
        ReplyOutcome.COMPLETE,
    ]
    assert "every candidate repeats an earlier turn; said a fallback" in said[0].remarks[0]
    assert "said the first anyway" in said[2].remarks[0]


# --- safety --------------------------------------------------------------------------------------


def test_an_unsafe_reply_is_replaced_by_a_safe_candidate_or_the_fallback():
    pytest.importorskip("profanity_check")
    context = Context.from_texts(["Hi"])
    rude = "you are a fucking idiot"

    two = create_bot("safety-filter", {"bot": choosy(rude, "Nice to meet you.")})
    one = create_bot("safety-filter", {"bot": choosy(rude), "fallback": "Let us not."})

    assert only(two.respond([context])).text == "Nice to meet you."
    assert only(one.respond([context])).text == "Let us not."
    assert only(one.respond([context])).remarks == (
        "safety-filter: every candidate is unsafe; said a fallback",
    )


@pytest.mark.parametrize("unsafe", ["so do you", "want it"])
def test_a_filter_uses_no_text_that_an_inner_filter_rejects(lab, unsafe):
    module = "no_" + unsafe.replace(" ", "_")
    (lab / f"{module}.py").write_text(
        f"class No:\n    def unsafe(self, texts):\n        return [{unsafe!r} in t.lower() for t in texts]\n"
    )
    # Whatever the guard inside says first, the filter around it must look for something else.
    texts = (REPEATED, "So do you want it", "You want it", "Me neither")
    guarded = {
        "adapter": "safety-filter",
        "configuration": {"bot": choosy(*texts), "classifier": f"{module}:No"},
    }
    bot = create_bot("repetition-filter", {"bot": guarded})

    response = only(bot.respond([Context.from_texts([REPEATED])]))

    assert response.text == {"so do you": "You want it", "want it": "Me neither"}[unsafe]


def test_a_classifier_of_the_lab_judges(lab):
    (lab / "ours.py").write_text(
        "class No:\n    def unsafe(self, texts):\n        return ['e' in t for t in texts]\n"
    )
    bot = create_bot("safety-filter", {"bot": choosy("yes", "no"), "classifier": "ours:No"})

    assert only(bot.respond([Context.from_texts(["Hi"])])).text == "no"
    assert len(bot.fingerprint()["classifier_code"]) == 64


def test_a_classifier_that_is_not_there_is_reported(lab):
    with pytest.raises(
        ConfigurationError, match=r"classifier = 'absent:No': absent: there is no absent\.py in"
    ):
        REGISTRY.configuration("safety-filter", {"bot": choosy("yes"), "classifier": "absent:No"})


@pytest.mark.parametrize(
    ("adapter", "settings"),
    [
        ("safety-filter", {"classifier": "broken:No"}),
        ("identity-guard", {"classifier": "broken:No"}),
        ("neural-chat", {"path": "broken:No"}),
    ],
)
def test_unimportable_code_of_the_lab_is_reported_before_anything_is_stored(lab, adapter, settings):
    (lab / "broken.py").write_text("import there_is_no_such_library\n")
    inner = {} if adapter == "neural-chat" else {"bot": choosy("yes")}

    with pytest.raises(ConfigurationError, match="cannot be imported: ModuleNotFoundError"):
        REGISTRY.configuration(adapter, inner | settings)


# --- identity ------------------------------------------------------------------------------------


def test_a_question_for_the_machine_gets_the_answer_and_does_not_reach_the_bot(lab):
    (lab / "guard.py").write_text(
        "class Asks:\n    def asks(self, texts):\n        return ['robot' in text for text in texts]\n"
    )
    settings = {"bot": choosy("hm"), "classifier": "guard:Asks", "confirmation": "I am a program."}
    bot = create_bot("identity-guard", settings)

    responses = bot.respond([Context.from_texts([text]) for text in ("a", "are you a robot?", "b")])

    assert [response.text for response in responses] == ["hm", bot.configuration.answer(), "hm"]
    assert responses[1].text.startswith("I am a program. I was made to ")
    assert responses[1].remarks == ("identity-guard: was asked whether it is a machine (probability 1.00)",)


# --- latency -------------------------------------------------------------------------------------

LATENCY = {"seconds": 1.0, "seconds_per_character": 0.1, "jitter": 0.0, "most_seconds": 5.0}


@pytest.mark.parametrize(("text", "seconds"), [("x" * 10, 2.0), ("x", 1.1), ("x" * 400, 5.0)])
def test_a_reply_is_held_back_for_the_floor_and_its_typing_up_to_the_ceiling(text, seconds):
    bot = create_bot("latency-floor", {"bot": choosy(text)} | LATENCY)

    response = only(bot.respond([Context.from_texts(["Hi"], seed=1)]))

    assert response.least_seconds == pytest.approx(seconds)
    assert response.text == text


def test_the_jitter_comes_from_the_seed_and_never_goes_below_the_floor():
    bot = create_bot("latency-floor", {"bot": choosy("x" * 10)} | LATENCY | {"jitter": 0.5})

    held = [only(bot.respond([Context.from_texts(["Hi"], seed=n)])).least_seconds for n in range(50)]

    again = [only(bot.respond([Context.from_texts(["Hi"], seed=n)])).least_seconds for n in range(50)]
    assert held == again
    assert len(set(held)) > 40
    assert all(1.5 <= seconds <= 2.5 for seconds in held)  # 1 + 1 · (1 ± 0.5)


# --- all of them ---------------------------------------------------------------------------------


def test_a_wrapper_batches_waits_and_closes_as_the_bot_inside():
    bot = create_bot("repetition-filter", {"bot": choosy("x")})
    bot.close()

    assert (bot.max_batch, bot.max_wait, ChoosyBot.closed) == (7, 0.01, True)


def test_a_wrapper_passes_failures_on():
    class FailingBot(ChoosyBot):
        def respond(self, contexts):
            return [Failure(ValueError("no")) for _ in contexts]

    REGISTRY._classes["choosy"] = FailingBot
    bot = create_bot("latency-floor", {"bot": choosy("x")})

    assert isinstance(only(bot.respond([Context.from_texts(["Hi"])])), Failure)


def test_wrappers_nest_and_the_fingerprint_holds_every_layer():
    inside = {"adapter": "repetition-filter", "configuration": {"bot": scripted("Hm")}}
    bot = create_bot("latency-floor", {"bot": inside, "seconds": 0})

    assert only(bot.respond([Context.from_texts(["Hi"])])).text == "Hm"
    fingerprint = bot.fingerprint()
    assert fingerprint["bot"]["bot"]["configuration"]["replies"] == ["Hm"]
    assert fingerprint["bot"]["adapter"] == "repetition-filter"


@pytest.mark.parametrize(
    ("bot", "field", "cure"),
    [
        ({"adapter": "scriptd"}, "bot.adapter", "Did you mean 'scripted'?"),
        ({"adaptr": "scripted"}, "bot.adapter", "is required"),
        (scripted("x", seconds=-1), "bot.configuration.seconds", "give 0 or more"),
        (scripted("x", sekonds=1), "bot.configuration.sekonds", "did you mean 'seconds'?"),
        (
            {"adapter": "latency-floor", "configuration": {"bot": scripted("x", fail_on=[0])}},
            "bot.configuration.bot.configuration.fail_on.0",
            "give 1 or more",
        ),
        ({"adapter": "scripted", "configuration": 3}, "bot.configuration", "is not an object of settings"),
    ],
)
def test_a_wrong_setting_inside_is_named_with_its_path(bot, field, cure):
    with pytest.raises(ConfigurationError) as caught:
        REGISTRY.configuration("repetition-filter", {"bot": bot})

    problems = {problem.field: problem.cure for problem in caught.value.problems}
    assert cure in problems[field]


def test_a_secret_inside_is_neither_shown_nor_in_the_fingerprint(monkeypatch):
    inner = {"adapter": "cleverbot", "configuration": {"api_key": "swordfish"}}
    bot = create_bot("latency-floor", {"bot": inner})

    assert "swordfish" not in str(bot.fingerprint())
    assert "swordfish" not in repr(bot.configuration)
    with pytest.raises(ConfigurationError, match=r"bot\.configuration\.api_key = \(hidden\)") as caught:
        REGISTRY.configuration(
            "latency-floor", {"bot": inner | {"configuration": {"api_key": ["swordfish"]}}}
        )
    assert "swordfish" not in str(caught.value)
    bot.close()


# --- what hosting does with it -------------------------------------------------------------------


async def test_a_reply_that_is_held_back_holds_up_no_other():
    class TwoSpeedsBot(ChoosyBot):
        def respond(self, contexts):
            return [
                Response("x", least_seconds=30 if context.turns[0].text == "slow" else 0)
                for context in contexts
            ]

    with Resident(
        "slow", lambda: TwoSpeedsBot(TwoSpeedsBot.Configuration(texts=())), deadline=60
    ) as resident:
        held = asyncio.create_task(resident.respond(Context.from_texts(["slow"])))
        while not resident.health().served:
            await asyncio.sleep(0.01)

        assert (await resident.respond(Context.from_texts(["fast"]))).text == "x"
        assert not held.done()
        held.cancel()


def test_a_reply_is_never_held_back_past_its_deadline():
    settings = {"bot": scripted("x"), "seconds": 60, "most_seconds": 60}
    with Resident("slow", lambda: create_bot("latency-floor", settings)) as resident:
        resident.wait_loaded()

        assert resident.respond_now(Context.from_texts(["Hi"]), deadline=0.3).text == "x"
        assert resident.health().late == 0


async def test_hosting_tells_one_caller_of_a_batch_that_its_context_failed():
    class PickyBot(ChoosyBot):
        def respond(self, contexts):
            return [
                Failure(ValueError("not that")) if context.turns[0].text == "bad" else Response("fine")
                for context in contexts
            ]

    with Resident("picky", lambda: PickyBot(PickyBot.Configuration(texts=()))) as resident:
        assert (await resident.respond(Context.from_texts(["good"]))).text == "fine"
        with pytest.raises(BotFailedError, match="Bot 'picky' failed: ValueError: not that"):
            await resident.respond(Context.from_texts(["bad"]))


# --- a lab's own code ----------------------------------------------------------------------------


def test_a_bot_of_neural_chat_gets_its_newest_messages(lab):
    (lab / "hred.py").write_text(
        "class Chatbot:\n    def handle_messages(self, messages):\n        return ' | '.join(messages)\n"
    )
    bot = create_bot("neural-chat", {"path": "hred:Chatbot", "history": 2})

    assert only(bot.respond([Context.from_texts(["a", "b", "c"])])).text == "b | c"


def test_a_message_that_a_bot_of_neural_chat_cannot_handle_fails_alone(lab):
    (lab / "odd.py").write_text(
        "def handle_messages(messages):\n    return messages[0] if messages[0] else None\n"
    )
    bot = create_bot("neural-chat", {"path": "odd"})

    good, bad = bot.respond([Context.from_texts(["a"]), Context.from_texts([""])])

    assert good.text == "a"
    assert isinstance(bad.error, TypeError)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none", r"there is no none\.py in"),
        ("real:Missing", "defines no 'Missing'"),
        ("real:system", "defines no 'system'"),  # imported there, not defined there
        ("real:Plain", "it has no handle_messages"),
        ("os:system", r"there is no os\.py in"),
        ("../secret", "is not the name of a module"),
        ("", "is not the name of a module"),
    ],
)
def test_only_code_of_the_lab_can_be_named(lab, path, message):
    (lab / "real.py").write_text("from os import system\nclass Plain: ...\n")

    with pytest.raises(ConfigurationError, match=message):
        create_bot("neural-chat", {"path": path})


def test_without_a_lab_every_name_is_refused(monkeypatch):
    monkeypatch.delenv("TURNWISE_BOT_PATH", raising=False)

    with pytest.raises(ConfigurationError, match="An admin sets TURNWISE_BOT_PATH"):
        create_bot("neural-chat", {"path": "os:system"})
