"""Bots made of several: who is asked, who speaks, who is left out, and what is written down of it."""

import asyncio
import math
import threading

import pytest

from chatbots.base import Bot, BotConfiguration, Context
from chatbots.ensembles import AT_ONCE
from chatbots.errors import BotFailedError, ChatbotError, ConfigurationError
from chatbots.hosting.resident import Resident
from chatbots.registry import REGISTRY, create_bot
from chatbots.replies import Response

BOTH = threading.Barrier(2, timeout=120)


class MeetingBot(Bot):
    """Answers once another of its kind is asked, too."""

    class Configuration(BotConfiguration):
        text: str

    def respond(self, contexts):
        BOTH.wait()
        return [Response(self.configuration.text, remarks=("mine",)) for _ in contexts]


class HeldBot(Bot):
    """Does not answer before it may."""

    may_answer = threading.Event()

    def respond(self, contexts):
        self.may_answer.wait(timeout=30)
        return [Response("at last") for _ in contexts]


class BrokenBot(Bot):
    def __init__(self, configuration):
        raise ValueError("no model is there")

    def respond(self, contexts):
        raise NotImplementedError


@pytest.fixture(autouse=True)
def _are_registered(monkeypatch):
    REGISTRY.registered_names()  # those that are found come first
    for name, bot in (("meeting", MeetingBot), ("held", HeldBot), ("broken", BrokenBot)):
        monkeypatch.setitem(REGISTRY._classes, name, bot)
    yield HeldBot.may_answer.clear()
    HeldBot.may_answer.set()


def member(name, *replies, **settings):
    settings = {"replies": list(replies) or [f"I am {name}."]} | settings
    return {"adapter": "scripted", "configuration": settings, "registered": name}


def failing(name):
    return member(name, fail_on=[1])


@pytest.fixture
def made():
    """Makes an ensemble and closes it at the end."""
    bots = []

    def make(adapter, *members, **settings):
        bots.append(create_bot(adapter, {"bots": list(members)} | settings))
        return bots[-1]

    yield make
    for bot in bots:
        bot.close()


def reply(bot, *texts):
    [response] = bot.respond([Context.from_texts(texts or ("Hi!",), seed=1)])
    return response


def why(bot, *texts):
    """Why there is no reply."""
    [failure] = bot.respond([Context.from_texts(texts or ("Hi!",))])
    return str(failure.error)


# --- router --------------------------------------------------------------------------------------

RULES = ["@goodbye, later: parting", "rain, New York: weather", "@question: asked"]


@pytest.fixture
def router(made):
    members = [member(name) for name in ("small-talk", "weather", "parting", "asked")]
    return made("router", *members, rules=RULES)


@pytest.mark.parametrize(
    ("said", "spoke", "because"),
    [
        ("It will RAIN, I fear.", "weather", "rule: rain"),
        ("I was in new york once", "weather", "rule: New York"),
        ("New trains to York", "small-talk", "no rule is met"),
        ("My train is late", "small-talk", "no rule is met"),
        ("See you in the rain?", "parting", "rule: see you"),
        ("Are you well? ", "asked", "rule: @question"),
        ("你好吗\N{FULLWIDTH QUESTION MARK}", "asked", "rule: @question"),
        ("👍", "small-talk", "no rule is met"),
    ],
)
def test_the_first_rule_that_the_last_turn_meets_chooses_who_speaks(router, said, spoke, because):
    response = reply(router, "Bye, what rain?", "Hm.", said)

    assert response.text == f"I am {spoke}."
    assert response.remarks == (f"router: {spoke} spoke ({because})",)


def test_another_bot_stands_in_for_the_one_that_fails(made):
    bot = made("router", member("a"), failing("b"), member("c"), rules=["x: b"], otherwise="c")

    response = reply(bot, "x")

    assert response.text == "I am c."
    assert response.remarks[0] == "router: c spoke (in place of b)"
    assert response.remarks[1].startswith("router: b gave no reply: Bot 'b' failed: ")
    assert reply(bot, "y").remarks == ("router: c spoke (no rule is met)",)


def test_the_first_of_the_others_stands_in_for_the_bot_of_all_other_turns(made):
    bot = made("router", failing("a"), member("b"), member("c"))

    assert reply(bot).remarks[0] == "router: b spoke (in place of a)"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"rules": ["rain weather"]}, "'rain weather' is not a rule. Write words, a colon and a bot"),
        ({"rules": [" , : a"]}, "is not a rule"),
        ({"rules": ["rain: c"]}, "'c' is none of the bots above. They are a, b"),
        ({"rules": ["@rain: a"]}, "'@rain' is not a list of words. There are @greeting, @goodbye"),
        ({"rules": ["?!: a"]}, "'?!' has no letter and no digit"),
        ({"otherwise": "c"}, "'c' is none of the bots above"),
        ({"bots": [member("a")]}, "give at least 2"),
        ({"bots": [member(f"a{n}") for n in range(9)]}, "give at most 8"),
        ({"seconds": 0}, "give more than 0"),
        ({"bots": [member("a"), {"adapter": "scripted", "configuration": {"seconds": -1}}]},
         "bots.1.configuration.seconds = -1: give 0 or more"),
    ],
)  # fmt: skip
def test_wrong_settings_are_reported_with_their_cure(settings, said):
    with pytest.raises(ConfigurationError) as told:
        REGISTRY.configuration("router", {"bots": [member("a"), member("b")]} | settings)

    assert said in str(told.value)


def test_bots_of_one_name_are_distinguished_by_a_number(made):
    eliza = {"adapter": "eliza", "configuration": {}}
    bot = made("router", eliza, member("eliza"), rules=["x: eliza 2"])

    assert reply(bot, "x").remarks == ("router: eliza 2 spoke (rule: x)",)


# --- vote ----------------------------------------------------------------------------------------


def test_the_reply_whose_words_the_others_share_most_is_used(made):
    bot = made(
        "vote", member("x", "dogs bark"), member("y", "cats purr loudly"), member("z", "cats and dogs purr")
    )

    response = reply(bot)

    # F1 by hand: x and y 0; x and z 2·1/(2+4) = 1/3; y and z 2·2/(3+4) = 4/7.
    means = {"cats and dogs purr": (1 / 3 + 4 / 7) / 2, "cats purr loudly": 2 / 7, "dogs bark": 1 / 6}
    assert response.text == "cats and dogs purr"
    assert {each.text: each.score for each in response.candidates} == pytest.approx(means)
    assert [each.text for each in response.candidates] == list(means)
    assert response.remarks == ("vote: z spoke (mean F1 with the others: z 0.45, y 0.29, x 0.17)",)


def test_of_equal_replies_the_first_bots_is_used(made):
    bot = made("vote", member("a", "one"), member("b", "two"))

    assert reply(bot).text == "one"


# --- best of several -----------------------------------------------------------------------------


def test_the_reply_that_takes_up_most_is_used_and_a_repetition_comes_last(made):
    earlier = "I would love to go to Paris too"
    bot = made(
        "best-of-several",
        member("echo", earlier), member("off", "Cheese."), member("on", "Love to go."),
        scorer="overlap",
    )  # fmt: skip

    response = reply(bot, earlier)

    assert response.text == "Love to go."
    assert response.remarks == (
        "best-of-several: on spoke (overlap: on 0.55, off 0.00, echo 1.00 but repeats)",
    )  # 2·3/(3+8) = 0.545…


def test_likelihood_is_that_of_the_model_per_token_with_the_end(made):
    torch = pytest.importorskip("torch")
    from chatbots.scoring import Likelihood

    scorer = Likelihood()
    turns, replies = ["Hi!", "Hello.", "How are you?"], ["I am fine.", "xylophone"]

    scores = scorer.scores(turns, replies)

    # Token by token: the model is given what precedes, and asked for the probability of the next.
    tokenizer, model = scorer._tokenizer, scorer._model
    context = torch.tensor([tokenizer.context(turns, length=model.config.context_length).tokens])
    for said, score in zip(replies, scores, strict=True):
        [tokens] = tokenizer.encode([said])
        logs, sofar = [], [tokenizer.start]
        for token in [*tokens, tokenizer.end]:
            probabilities = model(context, torch.tensor([sofar]))[0, -1].softmax(-1)
            logs.append(math.log(probabilities[token]))
            sofar.append(token)
        assert score == pytest.approx(sum(logs) / len(logs), abs=1e-3)
    assert scores[0] > scores[1]


@pytest.mark.parametrize(
    ("code", "said"),
    [("return [1.0]", "1 scores for 2 replies"), ("return [float('nan')] * 2", "score nan")],
)
def test_a_scorer_of_the_lab_that_is_wrong_fails_the_turn_with_its_reason(
    made, tmp_path, monkeypatch, code, said
):
    monkeypatch.setenv("TURNWISE_BOT_PATH", str(tmp_path))
    module = f"scorer_{len(code)}"
    (tmp_path / f"{module}.py").write_text(
        f"class Own:\n    def scores(self, turns, replies):\n        {code}"
    )
    bot = made("best-of-several", member("a"), member("b"), scorer=f"{module}:Own")

    assert said in why(bot)


# --- all of them ---------------------------------------------------------------------------------


def test_members_are_asked_at_the_same_time_and_keep_their_remarks(made):
    one, two = ({"adapter": "meeting", "configuration": {"text": text}} for text in ("a b", "a c"))

    response = reply(made("vote", one, two))  # each waits until the other is asked

    assert response.remarks[1:] == ("meeting: mine",)


def test_a_member_that_fails_or_is_late_is_left_out_and_the_remark_says_so(made):
    late = {"adapter": "held", "registered": "late"}
    bot = made("vote", failing("broken"), member("fine"), late, seconds=1.5)

    response = reply(bot)
    HeldBot.may_answer.set()

    assert response.text == "I am fine."
    assert response.remarks[0] == "vote: fine spoke (mean F1 with the others: fine 0.00)"
    assert response.remarks[1].startswith("vote: broken gave no reply: Bot 'broken' failed: ")
    assert response.remarks[2] == (
        "vote: late gave no reply: Bot 'late' did not answer within 1.5 s. Try again."
    )


@pytest.mark.parametrize("adapter", ["router", "vote", "best-of-several"])
def test_a_turn_fails_with_every_reason_only_if_no_member_replies(made, adapter):
    settings = {"scorer": "overlap"} if adapter == "best-of-several" else {}

    said = why(made(adapter, failing("a"), failing("b"), **settings))

    assert said.startswith(f"None of the bots of '{adapter}' gave a reply. Bot 'a' failed: ")
    assert "Bot 'b' failed: " in said


def test_a_member_that_cannot_be_loaded_is_named():
    with pytest.raises(ChatbotError, match=r"'b', a bot inside, could not be loaded: .*no model is there"):
        create_bot(
            "vote",
            {"bots": [member("a"), {"adapter": "broken", "registered": "b"}]},
        )


def test_a_slow_dialogue_holds_up_no_other_one():
    """The second is asked while the member still computes for the first, and need not wait for its end."""
    slow, quick = {"adapter": "held", "registered": "slow"}, member("quick")
    configuration = {"bots": [slow, quick], "rules": ["a: slow"], "otherwise": "quick", "seconds": 30}

    async def both(resident):
        first = asyncio.ensure_future(resident.respond(Context.from_texts(["a"])))
        await asyncio.sleep(0)
        second = await resident.respond(Context.from_texts(["b"]))
        assert not first.done()
        HeldBot.may_answer.set()
        return [(await first).text, second.text]

    with Resident("team", lambda: create_bot("router", configuration)) as resident:
        assert asyncio.run(both(resident)) == ["at last", "I am quick."]


async def test_members_stop_answering_a_caller_who_has_left(made):
    bot = made("vote", {"adapter": "held"}, member("quick"), seconds=60.0)
    answering, held = bot.answering(), bot._members["held"]
    begun = asyncio.to_thread(answering.admit, [Context.from_texts(["Hi!"], seed=1)])
    [first] = await begun
    [waiting] = await asyncio.to_thread(answering.admit, [Context.from_texts(["Hi!"], seed=2)])
    await asyncio.to_thread(answering.step)
    assert held.waiting == 2

    await asyncio.to_thread(answering.cancel, [first, waiting])

    assert held.waiting == 1  # that with which it had begun; nobody waits for it
    assert answering.step() == {}
    assert answering.room == AT_ONCE
    HeldBot.may_answer.set()  # otherwise closing waits for it


def test_a_filter_around_an_ensemble_uses_another_members_reply(made):
    inside = {
        "adapter": "vote",
        "configuration": {"bots": [member("a", "damn fuck"), member("b", "damn fuck"), member("c", "damn")]},
    }
    bot = create_bot("repetition-filter", {"bot": inside})
    try:
        response = reply(bot, "damn fuck shit well", "Hm.", "Hi!")
    finally:
        bot.close()

    assert response.remarks[0].startswith("vote: a spoke")


def test_versions_differ_by_their_inner_bots(made):
    with_cat, again, with_dog = (
        made("vote", member("a", text), member("b")).fingerprint() for text in ("cat", "cat", "dog")
    )

    assert with_cat == again != with_dog
    assert with_cat["configuration"]["bots"][0] == {"registered": "a", "revision": None}
    assert with_cat["bots"][0]["configuration"]["replies"] == ["cat"]


def test_an_ensemble_whose_members_all_fail_counts_as_failed():
    configuration = {"bots": [failing("a"), failing("b")]}
    with (
        Resident("team", lambda: create_bot("vote", configuration)) as resident,
        pytest.raises(BotFailedError, match="None of the bots of 'vote' gave a reply"),
    ):
        resident.respond_now(Context.from_texts(["Hi!"]))
