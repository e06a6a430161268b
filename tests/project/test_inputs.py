"""Inputs that no database takes, and values in the cache that nobody of us wrote."""

import pickle

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client
from redis import Redis

from tests.planted import SignIn
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.contexts.files import parse
from turnwise.studies.models import Study


@pytest.mark.parametrize(
    "path",
    [
        "/studies/{pk}/participants/?find=a%00b",
        "/studies/{pk}/dialogues/?page=%00",
        "/studies/?%00=1",
        "/s/{code}/?PROLIFIC_PID=%00",
    ],
)
def test_a_null_in_the_query_is_refused_in_words(study: Study, rex: User, sign_in: SignIn, path: str) -> None:
    answer = sign_in(rex).get(path.format(pk=study.pk, code=study.code))

    assert answer.status_code == 400
    assert "null character" in answer.content.decode()


def test_a_null_in_a_form_is_refused_in_words(study: Study, rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)

    for path in ("/tokens/", f"/s/{study.code}/resume/", f"/s/{study.code}/consent/"):
        assert (
            client.post(path, {"title": "a\x00b", "code": "\x00", "arrival": "pid=\x00"}).status_code == 400
        )


def test_half_a_character_in_a_file_of_contexts_is_a_problem_of_its_line() -> None:
    fields = ['"id": "\\ud800"', '"category": "\\ud800"', '"language": "\\ud800"', '"category": "\\u0000"']
    text = "\n".join('{"turns": ["Hi"], ' + each + "}" for each in fields)

    parsed = parse(text, "jsonl", language="en")

    assert not parsed.may_be_imported
    assert [each.line for each in parsed.problems] == [1, 2, 3, 4]


@pytest.mark.parametrize("text", ["a\\u0000b", "half \\ud83d"])
@pytest.mark.parametrize("field", ["title", "configuration"])
def test_the_api_takes_no_text_that_cannot_be_stored(rex: User, text: str, field: str) -> None:
    client = Client(headers={"Authorization": f"Bearer {credentials.create_token(rex, 'probe')}"})
    sent = {"title": '"P"', "configuration": '{"replies": ["Hi"]}'}
    sent[field] = f'"{text}"' if field == "title" else f'{{"replies": ["{text}"]}}'
    both = f'"title": {sent["title"]}, "configuration": {sent["configuration"]}'
    body = f'{{"name": "p", "adapter": "scripted", {both}}}'

    answer = client.post("/api/bots", body, content_type="application/json")

    assert answer.status_code in (400, 422), answer.content
    assert answer.json()["detail"]


# --- the cache -------------------------------------------------------------------------------------


class Trap:
    """Unpickled, it would leave a trace."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return TRACES.append, ("sprung",)


TRACES: list[str] = []


def test_a_value_that_somebody_else_put_into_redis_is_not_unpickled() -> None:
    cache.set("probe", {"a": (1, 2)})
    assert cache.get("probe") == {"a": (1, 2)}
    key = cache.make_key("probe")
    with Redis.from_url(settings.REDIS_URL) as redis:
        genuine = redis.get(key)
        assert isinstance(genuine, bytes)
        for forged in (pickle.dumps(Trap()), genuine[:32] + pickle.dumps(Trap()), b"", genuine[:-1]):
            redis.set(key, forged)
            assert cache.get("probe") is None

    assert TRACES == []


def test_numbers_are_counted_by_redis_itself() -> None:
    cache.set("count", 1)

    assert cache.incr("count") == 2
    assert cache.get("count") == 2
