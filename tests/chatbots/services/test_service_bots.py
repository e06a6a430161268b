"""The bots that are services, against a real server that speaks their protocols, well and badly."""

import re
import threading

import pytest

from chatbots.base import Context, Speaker, Turn
from chatbots.errors import ConfigurationError, ServiceError
from chatbots.hosting.resident import Resident
from chatbots.registry import REGISTRY, create_bot
from chatbots.replies import Failure
from tests.chatbots.local_service import Sent, in_order, running

HI = Context((Turn(Speaker.BOT, "Hi!"), Turn(Speaker.HUMAN, "How are you?")), seed=5)


@pytest.fixture(autouse=True)
def _this_machine_is_allowed(monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")


def completion(*texts, model="tiny-1", **more):
    choices = [
        {"index": n, "message": {"role": "assistant", "content": text}} for n, text in enumerate(texts)
    ]
    return Sent({"object": "chat.completion", "model": model, "choices": choices, **more})


def only(responses):
    [response] = responses
    if isinstance(response, Failure):
        raise response.error
    return response


@pytest.fixture
def make_bot():
    bots = []

    def make(name, **settings):
        bots.append(create_bot(name, settings))
        return bots[-1]

    yield make
    for bot in bots:
        bot.close()


# --- chat completions ----------------------------------------------------------------------------


def test_chat_completions_get_roles_system_prompt_and_parameters(make_bot):
    with running(in_order(completion("Fine.", usage={"completion_tokens": 3}))) as service:
        bot = make_bot(
            "openai-chat",
            base_url=f"{service.url}/v1/",
            model="tiny",
            system="Be kind.",
            temperature=0.5,
            most_tokens=40,
            api_key="sk-9",
            parameters={"presence_penalty": 1},
        )
        response = only(bot.respond([HI]))

    assert (response.text, response.usage.completion, response.remarks) == ("Fine.", 3, ())
    sent = service.received[-1]
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == "Bearer sk-9"
    assert 0 <= sent.json.pop("seed") < 2**31
    assert sent.json == {
        "model": "tiny",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "assistant", "content": "Hi!"},
            {"role": "user", "content": "How are you?"},
        ],
        "temperature": 0.5,
        "max_tokens": 40,
        "presence_penalty": 1,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_several_choices_become_candidates_in_their_order(make_bot):
    with running(in_order(completion("one", "two"))) as service:
        bot = make_bot("openai-chat", base_url=service.url, model="tiny", candidates=2)
        response = only(bot.respond([HI]))

    assert service.received[-1].json["n"] == 2
    assert response.text == "one"
    assert [candidate.text for candidate in response.candidates] == ["one", "two"]
    assert response.candidates[0].score > response.candidates[1].score


def test_strict_roles_leave_the_opening_out_and_join_turns(make_bot):
    turns = (*HI.turns, Turn(Speaker.HUMAN, "Hello?"))
    with running(in_order(completion("Fine."))) as service:
        bot = make_bot("openai-chat", base_url=service.url, model="tiny", alternate=True)
        bot.respond([Context(turns)])

    assert service.received[-1].json["messages"] == [{"role": "user", "content": "How are you?\nHello?"}]


def test_the_fingerprint_has_the_reported_model_and_a_change_is_remarked(make_bot):
    answers = in_order(completion("ok", model="tiny-2026-01"), completion("ok", model="tiny-2026-02"))
    with running(answers) as service:
        bot = make_bot("openai-chat", base_url=service.url, model="tiny", api_key="sk-9")
        response = only(bot.respond([HI]))

    assert bot.fingerprint()["reported_model"] == "tiny-2026-01"
    assert "sk-9" not in str(bot.fingerprint())
    assert response.remarks == (
        "openai-chat: the service answered as model 'tiny-2026-02', not 'tiny-2026-01'",
    )


def test_the_fingerprint_changes_with_the_code_that_services_share(make_bot, monkeypatch, tmp_path):
    bot = make_bot("http", url=LOCAL)
    before = bot.fingerprint()
    other = tmp_path / "messages.py"
    other.write_text("# other roles\n")

    monkeypatch.setattr("chatbots.services.bot.MESSAGES", other)

    assert {key for key, value in bot.fingerprint().items() if value != before[key]} == {"service_code"}


def test_a_wrong_key_is_reported_when_the_bot_is_loaded(make_bot):
    with (
        running(in_order(Sent({"error": {"message": "bad key sk-9"}}, status=401))) as service,
        pytest.raises(ServiceError, match=r"401 Unauthorized.*bad key \(hidden\)"),
    ):
        make_bot("openai-chat", base_url=service.url, model="tiny", api_key="sk-9")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Sent({"error": "x"}), "answered with an error: x"),
        (Sent({"choices": []}), "without 'choices'"),
        (Sent({"choices": ["x"]}), "without 'choices'"),
        (Sent({"choices": [{"message": None}]}), "has nothing in message.content"),
        (completion(None), "has nothing in message.content"),
        (completion(7), "has a number in message.content"),
        (Sent([1]), "answered a list instead of an object"),
    ],
)
def test_an_answer_of_another_shape_is_reported(answer, message, make_bot):
    with running(in_order(completion("ok"), answer)) as service:
        bot = make_bot("openai-chat", base_url=service.url, model="tiny")
        with pytest.raises(ServiceError, match=re.escape(message)):
            only(bot.respond([HI]))


def test_one_failing_dialogue_of_a_batch_fails_alone(make_bot):
    def answer(received):
        bad = received.json["messages"][-1]["content"] == "break"
        return Sent("no", status=400) if bad else completion(received.json["messages"][-1]["content"])

    with running(answer) as service:
        bot = make_bot("openai-chat", base_url=service.url, model="tiny")
        sent_while_loading = len(service.received)
        one, two, three = bot.respond([Context.from_texts([text]) for text in ("a", "break", "c")])

    assert (one.text, three.text) == ("a", "c")
    assert isinstance(two.error, ServiceError)
    assert len(service.received) - sent_while_loading == 3


def test_the_dialogues_of_a_batch_are_asked_at_the_same_time(make_bot):
    all_here = threading.Barrier(4, timeout=20)

    def answer(received):
        if received.json["messages"][-1]["content"] != "Hi!":  # the request while loading comes alone
            all_here.wait()
        return completion("ok")

    with running(answer) as service:
        bot = make_bot("openai-chat", base_url=service.url, model="tiny", parallel=4)
        responses = bot.respond([Context.from_texts([str(n)]) for n in range(4)])

    assert [response.text for response in responses] == ["ok"] * 4


def test_a_resident_tells_its_caller_what_the_service_did():
    with running(in_order(completion("ok"), Sent("out of memory", status=500))) as service:
        settings = {"base_url": service.url, "model": "tiny", "retries": 0}
        with (
            Resident("llm", lambda: create_bot("openai-chat", settings)) as resident,
            pytest.raises(Exception, match=r"Bot 'llm' failed: .*500 Internal Server Error: .*out of memory"),
        ):
            resident.respond_now(HI)


# --- keys and addresses --------------------------------------------------------------------------

LOCAL = "http://127.0.0.1:9"


def wrong(name, **settings):
    with pytest.raises(ConfigurationError) as caught:
        REGISTRY.configuration(name, settings)
    [problem] = caught.value.problems
    return problem


@pytest.mark.parametrize(
    ("settings", "field", "cure"),
    [
        ({"base_url": "http://10.0.0.1/v1"}, "base_url", "adds its network to TURNWISE_ALLOWED_NETWORKS"),
        ({"base_url": "file:///etc"}, "base_url", "Write it as https://host/path"),
        ({"timeout": 0}, "timeout", "give more than 0"),
        ({"api_key_variable": "SECRET_KEY"}, "api_key_variable", "TURNWISE_BOT_"),
        (
            {"api_key_variable": "TURNWISE_BOT_PATH"},
            "api_key_variable",
            "is a setting of Turnwise, not a key",
        ),
        ({"parameters": {"model": "x"}}, "parameters", "model: has a setting of its own"),
        ({"temprature": 1}, "temprature", "did you mean 'temperature'?"),
    ],
)
def test_a_wrong_setting_is_named_with_the_cure(settings, field, cure):
    problem = wrong("openai-chat", **({"base_url": LOCAL, "model": "tiny"} | settings))

    assert problem.field == field
    assert cure in problem.cure


def test_two_keys_are_refused_without_showing_one():
    problem = wrong("cleverbot", api_key="sk-9", api_key_variable="TURNWISE_BOT_KEY")

    assert (problem.field, problem.value) == ("configuration", "(hidden)")
    assert problem.cure.startswith("api_key and api_key_variable are both given")


@pytest.mark.parametrize("key", ["sk-9\n", "sk-9 ", "sk-\u00e9"])
def test_a_key_that_could_not_be_sent_is_refused_unseen(key):
    problem = wrong("http", url=LOCAL, api_key=key)

    assert (problem.field, problem.value) == ("api_key", "(hidden)")
    assert "Copy it again" in problem.cure


def test_the_key_comes_from_the_environment(make_bot, monkeypatch):
    with running(in_order(completion("ok"))) as service:
        monkeypatch.setenv("TURNWISE_BOT_KEY", f"{service.url} sk-7")
        make_bot("openai-chat", base_url=service.url, model="tiny", api_key_variable="TURNWISE_BOT_KEY")

    assert service.received[0].headers["authorization"] == "Bearer sk-7"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "is not set where the bot is loaded"),
        ("https://api.example.org sk-7", "is kept for https://api.ex"),
        ("sk-7\u00e9", "a letter that no key has. Copy it again"),
        ("sk-7", "does not say who may get the key. Write the service's address before it"),
    ],
)
def test_a_key_that_is_missing_or_for_another_service_is_not_sent(value, message, make_bot, monkeypatch):
    if value:
        monkeypatch.setenv("TURNWISE_BOT_KEY", value)

    with (
        running(in_order(completion("ok"))) as service,
        pytest.raises(ConfigurationError, match=message) as caught,
    ):
        make_bot("openai-chat", base_url=service.url, model="tiny", api_key_variable="TURNWISE_BOT_KEY")
    assert service.received == []
    assert "sk-7" not in str(caught.value)


def test_cleverbot_without_a_key_is_not_taken_for_ready(make_bot):
    with pytest.raises(ConfigurationError, match="answers nobody without a key"):
        make_bot("cleverbot")


# --- any JSON over HTTP --------------------------------------------------------------------------


def test_a_template_is_filled_and_the_reply_found_by_its_pointer(make_bot):
    template = {"q": "{{text}}", "all": {"turns": "{{turns}}"}, "note": "in {{dialogue}}: {{text}}", "n": 3}
    with running(in_order(Sent({"data": [{"text": "Fine."}]}))) as service:
        bot = make_bot(
            "http", url=f"{service.url}/x", template=template, reply="/data/0/text", headers={"X-A": "b"}
        )
        context = Context((*HI.turns, Turn(Speaker.HUMAN, "{{dialogue}}")), dialogue="d1")
        response = only(bot.respond([context]))

    assert response.text == "Fine."
    assert service.received[0].headers["x-a"] == "b"
    assert service.received[0].json == {
        "q": "{{dialogue}}",
        "all": {"turns": ["Hi!", "How are you?", "{{dialogue}}"]},
        "note": "in d1: {{dialogue}}",
        "n": 3,
    }


def test_get_sends_the_template_as_parameters(make_bot):
    with running(in_order(Sent("Fine & well"))) as service:
        bot = make_bot(
            "http",
            url=f"{service.url}/x?a=1",
            method="GET",
            reply="",
            api_key="k",
            key_header="X-Key",
            key_prefix="",
        )
        response = only(bot.respond([Context.from_texts(["a&b=ü"])]))

    [received] = service.received
    assert response.text == "Fine & well"
    assert (received.method, received.query) == ("GET", {"a": "1", "text": "a&b=ü"})
    assert received.headers["x-key"] == "k"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"answer": "x"}, "there is no /reply. Correct the setting 'reply'"),
        ({"reply": 7}, "has a number in /reply instead of a text"),
        ({"reply": None}, "has nothing in /reply"),
        (["x"], "there is no /reply"),
    ],
)
def test_an_answer_without_the_reply_is_reported(answer, message, make_bot):
    with running(in_order(Sent(answer))) as service:
        bot = make_bot("http", url=service.url)
        with pytest.raises(ServiceError, match=re.escape(message)):
            only(bot.respond([HI]))


@pytest.mark.parametrize(
    ("settings", "cure"),
    [
        ({"template": {"a": ["{{txt}}"]}}, "{{txt}} is not a placeholder. There are text, turns"),
        ({"reply": "answer"}, "is not a JSON Pointer"),
        ({"headers": {"Host": "intern"}}, "'Host' is set by the connection"),
        ({"headers": {"authorization": "Bearer sk-7"}}, "Use api_key or api_key_variable"),
        ({"headers": {"X-A": "b\r\nHost: c"}}, "characters that a header cannot have"),
        ({"method": "GET", "template": {"a": ["b"]}}, "parameters of a URL are texts"),
    ],
)
def test_a_template_that_cannot_work_is_refused(settings, cure):
    assert cure in wrong("http", url=LOCAL, **settings).cure


# --- DialCrowd -----------------------------------------------------------------------------------


class DialogueSystem:
    """Speaks DialPort's interface: counts what it was told in each session."""

    def __init__(self):
        self.told = {}
        self.ended = []

    def __call__(self, received):
        session, step = received.json["sessionID"], received.path
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}", received.json["timeStamp"])
        if step == "/bot/init":
            self.told[session] = []
        elif step == "/bot/next":
            self.told[session].append(received.json["text"])
        else:
            self.ended.append(session)
        said = " ".join(self.told[session]) or "Hello"
        return Sent({"sessionID": session, "sys": said, "version": "1", "terminal": "bye" in said})


def dialogue(*texts, name="d1"):
    return Context(Context.from_texts(texts).turns, dialogue=name)


def test_a_session_goes_on_with_its_dialogue(make_bot):
    system = DialogueSystem()
    with running(system) as service:
        bot = make_bot("dialcrowd", base_url=f"{service.url}/bot")
        assert only(bot.respond([dialogue("a")])).text == "a"
        assert only(bot.respond([dialogue("a", "a", "b")])).text == "a b"

    assert [received.path for received in service.received] == ["/bot/init", "/bot/next", "/bot/next"]


def test_a_dialogue_whose_session_is_unknown_is_sent_again(make_bot):
    system = DialogueSystem()
    with running(system) as service:
        bot = make_bot("dialcrowd", base_url=f"{service.url}/bot")
        only(bot.respond([dialogue("a")]))
        response = only(bot.respond([dialogue("a", "another reply was said", "b")]))
        bot.respond([dialogue("x", name="d2")])

    assert response.text == "a b"
    assert len(system.told) == 3
    assert len(system.ended) == 1  # the first one, which had gone another way


def test_a_context_that_stands_alone_leaves_no_session():
    system = DialogueSystem()
    with running(system) as service:
        bot = create_bot("dialcrowd", {"base_url": f"{service.url}/bot"})
        assert only(bot.respond([Context.from_texts(["a", "?", "b"])])).text == "a b"
        bot.close()

    assert list(system.told) == system.ended


def test_every_session_is_ended_when_the_bot_is_closed():
    system = DialogueSystem()
    with running(system) as service:
        bot = create_bot("dialcrowd", {"base_url": f"{service.url}/bot"})
        bot.respond([dialogue("a", name=name) for name in ("d1", "d2")])
        bot.close()

    assert sorted(system.ended) == sorted(system.told)


def test_a_session_that_the_system_ends_is_replaced_by_a_new_one(make_bot):
    system = DialogueSystem()
    with running(system) as service:
        bot = make_bot("dialcrowd", base_url=f"{service.url}/bot")
        only(bot.respond([dialogue("bye")]))
        only(bot.respond([dialogue("bye", "bye", "b")]))

    assert len(system.told) == 2


def test_a_failed_turn_is_not_built_upon(make_bot):
    system = DialogueSystem()
    fails = iter([False, False, True])

    def answer(received):
        return (
            Sent("down", status=503)
            if received.path == "/bot/next" and next(fails, False)
            else system(received)
        )

    with running(answer) as service:
        bot = make_bot("dialcrowd", base_url=f"{service.url}/bot", retries=0)
        assert only(bot.respond([dialogue("a")])).text == "a"
        assert only(bot.respond([dialogue("a", "a", "b")])).text == "a b"
        with pytest.raises(ServiceError, match="503"):
            only(bot.respond([dialogue("a", "a", "b", "a b", "c")]))
        assert only(bot.respond([dialogue("a", "a", "b", "a b", "c")])).text == "a b c"

    assert len(system.told) == 2


def test_sending_a_long_dialogue_again_is_bounded_in_time(make_bot):
    system = DialogueSystem()

    def answer(received):
        return Sent(hangs=True) if received.json.get("text") == "b" else system(received)

    with running(answer) as service:
        bot = make_bot("dialcrowd", base_url=f"{service.url}/bot", timeout=0.5, sends_end=False)
        with pytest.raises(ServiceError, match=r"did not answer within 0\.5 s"):
            only(bot.respond([dialogue("a", "a", "b", "b", "c")]))


@pytest.mark.parametrize("answer", [Sent({"text": "x"}), Sent({"sys": 1}), Sent("x")])
def test_a_system_with_another_format_is_reported(answer, make_bot):
    with running(in_order(answer)) as service:
        bot = make_bot("dialcrowd", base_url=service.url)
        with pytest.raises(ServiceError, match=r"instead of"):
            only(bot.respond([dialogue("a")]))


# --- Cleverbot -----------------------------------------------------------------------------------


def cleverbot(received):
    """As documented: says how it knew the conversation, and gives a token."""
    assert received.method == "GET"
    earlier = [received.query[key] for key in sorted(received.query) if key.startswith("vtext")]
    knows = f"token {received.query['cs']}" if "cs" in received.query else f"turns {earlier}"
    return Sent({"output": f"By {knows}", "cs": f"cs{received.query['input']}", "interaction_count": "1"})


def test_cleverbot_gets_its_token_back(make_bot):
    with running(cleverbot) as service:
        bot = make_bot("cleverbot", address=f"{service.url}/getreply", api_key="k", wackiness=7)
        first = only(bot.respond([dialogue("a")]))
        second = only(bot.respond([dialogue("a", first.text, "b")]))

    assert (first.text, second.text) == ("By turns []", "By token csa")
    assert {name: service.received[1].query[name] for name in ("key", "input", "cb_settings_tweak1")} == {
        "key": "k",
        "input": "b",
        "cb_settings_tweak1": "7",
    }


def test_cleverbot_gets_the_last_turns_newest_first_where_its_token_is_unknown(make_bot):
    with running(cleverbot) as service:
        bot = make_bot("cleverbot", address=f"{service.url}/getreply", api_key="k")
        assert only(bot.respond([dialogue("a", "b", "c")])).text == "By turns ['b', 'a']"

        bot.respond([dialogue(*map(str, range(20)), name="d2")])
    query = service.received[-1].query
    assert [query[f"vtext{n}"] for n in range(2, 11)] == [
        "18",
        "17",
        "16",
        "15",
        "14",
        "13",
        "12",
        "11",
        "10",
    ]
    assert "vtext11" not in query


def test_cleverbots_key_is_in_no_message(make_bot):
    with running(in_order(Sent({"error": "k-secret is invalid"}, status=401))) as service:
        bot = make_bot("cleverbot", address=f"{service.url}/getreply", api_key="k-secret")
        with pytest.raises(ServiceError, match="401 Unauthorized") as caught:
            only(bot.respond([dialogue("a")]))
    assert "k-secret" not in str(caught.value)
