"""Sweeps of N and T: run by a tiny Meena, judged, and drawn."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import pytest
import torch
from django.test import Client
from django.utils import timezone

from chatbots.base import Context as Asked
from chatbots.meena.config import MeenaConfig
from chatbots.meena.model import Meena, save_checkpoint
from chatbots.meena.tokenizer import Tokenizer
from chatbots.registry import create_bot
from tests.comparisons.conftest import judge_all
from tests.comparisons.test_measured import plots
from tests.conftest import MakeQueue, MakeVersion
from tests.planted import SignIn, computed
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot
from turnwise.contexts.models import ContextSetVersion
from turnwise.judging.items import subjects
from turnwise.judging.queries import system_counts
from turnwise.questions import question_sets
from turnwise.questions.services import create_set
from turnwise.responses.models import ResponseRun, Sweep
from turnwise.responses.sweeps import Cell, Grid, cells, progress, start_sweep, stop
from turnwise.responses.tasks import answer_slice, seed_of
from turnwise.studies.models import Study

# The bot and the runs' steps use connections of their own, which see only what is committed.
pytestmark = pytest.mark.django_db(transaction=True)

YES, NO = {"sensible": True, "specific": True}, {"sensible": False, "specific": False}


@pytest.fixture(scope="module")
def settings_of_meena(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Of a bot with a tiny untrained model, in a folder where models may be."""
    folder = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    tokenizer = Tokenizer.train(["I like the red cat", "we hate a big dog", "Hi you"] * 9, vocabulary_size=40)
    config = MeenaConfig(hidden_size=16, heads=2, decoder_blocks=1, vocabulary_size=40, response_length=8)
    weights = Meena(config).state_dict()
    save_checkpoint(folder / "tiny", config=config, weights=weights, tokenizer=tokenizer)
    return {"checkpoint": str(folder / "tiny"), "precision": "fp32"}


@pytest.fixture
def meena(rex: User, settings_of_meena: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[Bot]:
    monkeypatch.setenv("TURNWISE_MODEL_FOLDERS", settings_of_meena["checkpoint"])
    yield Bot.objects.create(
        name="meena", title="Meena", owner=rex, adapter="meena-base", configuration=settings_of_meena
    )
    resident_bots.close()


@pytest.fixture
def contexts(make_version: MakeVersion) -> ContextSetVersion:
    return make_version(turns=[("Hi!",), ("Do you like cats?",)])


def answered(sweep: Sweep) -> None:
    for run in sweep.runs.order_by("pk"):
        while answer_slice(run.pk):
            pass


@pytest.mark.timeout(400)  # it starts processes that compute a report and draw
def test_a_sweep_goes_from_its_cost_to_the_chart_of_scores(
    meena: Bot, contexts: ContextSetVersion, rex: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)
    wanted: dict[str, str | int] = {
        "context_version": contexts.pk,
        "samples": "8 1",
        "temperatures": "1, .5",
        "seed": 3,
    }

    priced = client.get("/bots/meena/sweeps/", wanted).content.decode()

    # Two contexts, (8 + 1) samples at each of two temperatures.
    assert "4 pairs of N and T with 2 contexts each: 8 responses from <strong>36 samples" in priced
    assert not Sweep.objects.exists()

    address = client.post("/bots/meena/sweeps/", wanted).headers["Location"]
    sweep = Sweep.objects.get()
    assert address == f"/bots/meena/sweeps/{sweep.pk}/"
    answered(sweep)

    _says_what_a_bot_of_those_settings_says(sweep)
    found = {cell.name: cell for cell in cells(sweep)}
    assert list(found) == ["N=1, T=0.5", "N=8, T=0.5", "N=1, T=1", "N=8, T=1"]
    for cell in found.values():
        best = [max(each["score"] for each in r.candidates) for r in cell.run.responses.all()]
        assert cell.per_token == pytest.approx(sum(best) / 2)
    likelihood = {name: cell.per_token or 0.0 for name, cell in found.items()}
    # The same seed draws the single sample first: the best of eight cannot be less likely.
    assert likelihood["N=8, T=1"] >= likelihood["N=1, T=1"]
    assert likelihood["N=8, T=0.5"] >= likelihood["N=1, T=0.5"]

    study = _judged(client, address, found["N=1, T=1"].run, found["N=8, T=1"].run)
    page = client.get(address).content.decode()

    assert f'href="{study.get_absolute_url()}"' in page
    assert '<img src="/bots/meena/sweeps/' in page
    assert "N=8, T=1: Sensibleness 100, Specificity 100, SSA 100, log P per token" in page
    _leads_to_what_is_behind_it(client, page, study, found)
    rows = list(csv.DictReader(io.StringIO(client.get(f"{address}sweep.csv").content.decode())))
    assert [(row["samples"], row["temperature"], row["ssa"]) for row in rows] == [
        ("1", "0.5", ""), ("8", "0.5", ""), ("1", "1.0", "50.0"), ("8", "1.0", "100.0"),
    ]  # fmt: skip
    told = [float(row["log_likelihood_per_token"]) for row in rows]
    assert told == pytest.approx(list(likelihood.values()))
    assert client.get(f"{address}sweep.svg").headers["Content-Type"] == "image/svg+xml"
    # What it says with another N is not what this version of it says: its history has none of it.
    assert "No scores yet" in client.get("/bots/meena/history/").content.decode()


GOOD: dict[str, Any] = {
    "format": 1,
    "key": "good",
    "title": "Good",
    "subjects": ["response"],
    "source": "our own",
    "questions": [
        {
            "key": "sensible", "wording": "Sensibleness", "kind": "scale",
            "scale": {"low": 1, "high": 7, "low_caption": "none", "high_caption": "much"},
        },
    ],
}  # fmt: skip
"""Questions whose score is in points, and is called as one of SSA is."""


@pytest.mark.timeout(400)
def test_scores_in_points_have_a_panel_with_the_ends_of_their_scale(
    meena: Bot, contexts: ContextSetVersion, rex: User, sign_in: SignIn, make_queue: MakeQueue
) -> None:
    sweep = start_sweep(meena, contexts, Grid((1, 8), (1.0,)), owner=rex, seed=3)
    answered(sweep)
    first = sweep.runs.get(samples=1)
    question_sets.forget_question_sets()
    own = create_set(GOOD, owner=rex).key
    asked: dict[str, list[dict[str, Any]]] = {"ssa": [YES, NO], own: [{"sensible": 3}, {"sensible": 6}]}
    for question_set, given in asked.items():
        study = make_queue(raters=1, question_set=question_set, protocol="")
        subjects.add_responses(study, first)
        judge_all(study, {(first.system, key): [one] for key, one in zip(("c1", "c2"), given, strict=True)})
        computed(study)
    client = sign_in(rex)

    page = client.get(sweep.get_absolute_url()).text
    rows = list(csv.DictReader(io.StringIO(client.get(f"{sweep.get_absolute_url()}sweep.csv").text)))
    headers = {"Authorization": f"Bearer {credentials.create_token(rex, 'sweeps')}"}
    told = Client(headers=headers).get(f"/api/bots/meena/sweeps/{sweep.pk}").json()
    question_sets.forget_question_sets()

    # Of two responses: sensible 1 of 2 by SSA; (3 + 6) / 2 points by the other questions.
    assert {key: rows[0][key] for key in ("sensible", "ssa", f"{own}.sensible")} == {
        "sensible": "50.0", "ssa": "50.0", f"{own}.sensible": "4.5",
    }  # fmt: skip
    assert rows[1][f"{own}.sensible"] == ""
    assert told["cells"][0]["scores"] == {
        "sensible": 50, "specific": 50, "ssa": 50, f"{own}.sensible": 4.5
    }  # fmt: skip
    scales = {each["key"]: (each["percent"], each["low"], each["high"]) for each in told["scored"]}
    assert scales == {
        "sensible": (True, 0, 100), "specific": (True, 0, 100), "ssa": (True, 0, 100),
        f"{own}.sensible": (False, 1, 7),
    }  # fmt: skip
    (plot,) = plots(page)
    assert [(panel["title"], panel["low"], panel["high"]) for panel in plot["panels"]] == [
        ("Sensibleness", 0, 100),
        ("Specificity", 0, 100),
        ("SSA", 0, 100),
        (f"Sensibleness ({own}), points", 1, 7),
        ("log P per token", None, None),
    ]
    (line,) = plot["panels"][3]["lines"]
    assert [(point["x"], point["value"]) for point in line["points"]] == [(1, 4.5)]
    own_study = Study.objects.latest("pk")
    query = urlencode({"question": "sensible", "system": first.system})
    assert [point["href"] for point in line["points"]] == [f"/studies/{own_study.pk}/items/?{query}"]
    assert f"SSA 50, Sensibleness ({own}) 4.5 points, log P per token" in page
    assert "Scores: 4 of 4 shown" in page
    assert "with 95\u00a0% intervals" in page
    drawn = client.get(f"{sweep.get_absolute_url()}sweep.svg").text
    assert f"Sensibleness ({own}), points" in drawn
    few = client.get(f"{sweep.get_absolute_url()}?score=ssa").text
    assert "Scores: 1 of 4 shown" in few
    assert "Sensibleness</th>" not in few


def _says_what_a_bot_of_those_settings_says(sweep: Sweep) -> None:
    run = sweep.runs.get(samples=8, temperature=0.5)
    configured = create_bot("meena-base", sweep.bot.configuration | {"samples": 8, "temperature": 0.5})
    for response in run.responses.select_related("context"):
        asked = Asked.from_texts(response.context.turns, seed_of(3, response.context.key, 1))
        (said,) = configured.respond([asked])
        assert response.text == said.text
        assert response.candidates
        assert len(response.candidates) == 8
    assert run.bot_version is not None


def _leads_to_what_is_behind_it(client: Client, page: str, study: Study, found: Mapping[str, Cell]) -> None:
    """A likelihood to the responses of its pair, a score to their judgments on what it is first made of."""
    (plot,) = plots(page)
    *scores, likelihood = plot["panels"]
    hrefs = {point["words"][0]: point["href"] for line in likelihood["lines"] for point in line["points"]}
    assert hrefs == {name: cell.run.get_absolute_url() for name, cell in found.items()}
    asked = {"Sensibleness": "sensible", "Specificity": "specific", "SSA": "sensible"}
    for panel in scores:
        led = {point["words"][0]: point["href"] for line in panel["lines"] for point in line["points"]}
        assert led == {
            name: f"/studies/{study.pk}/items/?"
            + urlencode({"question": asked[panel["title"]], "system": found[name].run.system})
            for name in ("N=1, T=1", "N=8, T=1")
        }
    items = client.get(scores[0]["lines"][0]["points"][0]["href"]).text
    assert "2 items</p>" in items
    assert items.count(f"<td>{found['N=1, T=1'].run.system}</td>") == 2


def _judged(client: Client, address: str, worse: ResponseRun, better: ResponseRun) -> Study:
    """A study of both, in which all responses of `better` and one of `worse` get both votes."""
    sent = client.post(f"{address}judge/", {"run": [worse.pk, better.pk]})
    study = Study.objects.get()
    assert sent.headers["Location"] == f"/studies/{study.pk}/edit/"
    assert "[your institution]" in client.get(f"/studies/{study.pk}/edit/").content.decode()
    assert {each.system: each.items for each in system_counts(study)} == {worse.system: 2, better.system: 2}
    study.consent_versions.create(number=1, text="You may stop at any time.")
    Study.objects.filter(pk=study.pk).update(state=Study.State.OPEN)
    study.refresh_from_db()
    judge_all(
        study,
        {(worse.system, "c1"): [YES], (worse.system, "c2"): [NO]}
        | {(better.system, key): [YES] for key in ("c1", "c2")},
    )
    computed(study)
    return study


def test_a_stopped_sweep_continues_with_the_missing_responses(
    meena: Bot, contexts: ContextSetVersion, rex: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)
    sweep = start_sweep(meena, contexts, Grid((1, 2), (1.0,)), owner=rex, seed=1)
    first, second = sweep.runs.order_by("pk")
    while answer_slice(first.pk):
        pass
    kept = list(first.responses.values_list("pk", flat=True))

    assert stop(sweep, now=timezone.now()) == 1  # the complete one stays complete

    page = client.get(sweep.get_absolute_url()).content.decode()
    assert "Continue" in page
    assert progress(cells(sweep)).state == ResponseRun.State.CANCELLED
    assert client.post(f"{sweep.get_absolute_url()}judge/", {"run": [second.pk]}).status_code == 422
    assert not Study.objects.exists()
    client.post(f"{sweep.get_absolute_url()}continue/")
    answered(sweep)
    assert progress(cells(sweep)).state == ResponseRun.State.DONE
    assert list(first.responses.values_list("pk", flat=True)) == kept
    # There is nothing to continue any more, and it says so.
    told = client.post(f"{sweep.get_absolute_url()}continue/", follow=True).content.decode()
    assert "No part of this sweep is stopped" in told


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"samples": "1 401"}, "N = 401 is not possible; choose numbers from 1 to 400."),
        ({"samples": "1 x"}, "“x” is not a whole number."),
        ({"samples": "1 2 3 4 5 6 7 8 9"}, "1 to 8 numbers N and 1 to 5 temperatures T."),
        ({"samples": " ; "}, "1 to 8 numbers N"),
        ({"temperatures": "0"}, "T = 0 is not possible"),
        ({"temperatures": "1 hot"}, "“hot” is not a number."),
        ({"temperatures": "1, 0,88"}, "“0,88” would be two numbers. Write a point: 0.88."),
        ({"temperatures": "11"}, "T = 11 is not possible; choose temperatures above 0, up to 10."),
        ({"context_version": "999999"}, "Select a valid choice."),
    ],
)
def test_an_impossible_sweep_is_refused_with_a_reason(
    meena: Bot, contexts: ContextSetVersion, rex: User, sign_in: SignIn, given: dict[str, str], said: str
) -> None:
    wanted = {"context_version": str(contexts.pk), "samples": "1", "temperatures": "1"} | given

    for send in (sign_in(rex).get, sign_in(rex).post):
        answer = send("/bots/meena/sweeps/", wanted)
        page = answer.content.decode()
        assert answer.status_code == 422
        assert said in page
        assert ("correct what is marked below" in page) == ('aria-invalid="true"' in page)
    assert not Sweep.objects.exists()


def test_a_sweep_that_costs_too_much_is_refused(meena: Bot, contexts: ContextSetVersion, rex: User) -> None:
    contexts.size = 20_000

    # 20,000 contexts with 400 + 200 samples: 12 million.
    with pytest.raises(Exception, match="12,000,000 samples, and a sweep has at most 10,000,000"):
        start_sweep(meena, contexts, Grid((400, 200), (1.0,)), owner=rex, seed=1)
    assert not ResponseRun.objects.exists()


def test_programs_begin_read_stop_and_continue_a_sweep(
    meena: Bot, contexts: ContextSetVersion, rex: User, mallory: User
) -> None:
    Bot.objects.create(name="eliza", title="ELIZA", owner=rex, adapter="eliza")
    headers = {"Authorization": f"Bearer {credentials.create_token(rex, 'sweeps')}"}
    client = Client(headers=headers)
    wanted = {"context_set": contexts.context_set_id, "version": 1, "samples": [2, 1, 2], "temperatures": [1]}

    def post(path: str, body: object = None) -> tuple[int, dict[str, object]]:
        sent = client.post(f"/api/bots/{path}", json.dumps(body), content_type="application/json")
        return sent.status_code, sent.json()

    status, begun = post("meena/sweeps", wanted)
    assert (status, begun["state"], begun["had"], begun["wanted"]) == (201, "running", 0, 4)
    of_it = f"meena/sweeps/{begun['id']}"
    assert post(f"{of_it}/stop")[1]["state"] == "cancelled"
    assert post(f"{of_it}/continue")[1]["state"] == "running"
    assert post(f"{of_it}/continue")[0] == 409
    answered(Sweep.objects.get())
    read = client.get(f"/api/bots/{of_it}").json()
    assert read["state"] == "done"
    pairs = [(pair["samples"], pair["had"], pair["scores"]) for pair in read["cells"]]
    assert pairs == [(1, 2, {}), (2, 2, {})]
    assert all(pair["log_likelihood_per_token"] < 0 for pair in read["cells"])
    assert [each["id"] for each in client.get("/api/bots/meena/sweeps").json()] == [begun["id"]]
    status, made = post(f"{of_it}/raters", {"runs": [pair["run"] for pair in read["cells"]]})
    assert (status, Study.objects.get(code=made["study"]).items.count()) == (201, 4)
    assert post(f"{of_it}/raters", {"runs": [2**40]})[0] == 409

    assert "does not sample and rank" in str(post("eliza/sweeps", wanted)[1]["detail"])
    assert "There is no context set 0" in str(post("meena/sweeps", wanted | {"context_set": 0})[1]["detail"])
    Bot.objects.update(open_to_all=True)
    other = Client(headers={"Authorization": f"Bearer {credentials.create_token(mallory, 'sweeps')}"})
    assert other.get(f"/api/bots/{of_it}").status_code == 404


def test_a_bot_without_n_and_t_says_so(rex: User, sign_in: SignIn) -> None:
    Bot.objects.create(name="eliza", title="ELIZA", owner=rex, adapter="eliza")

    assert "There is nothing to vary" in sign_in(rex).get("/bots/eliza/sweeps/").content.decode()
    assert "/bots/eliza/sweeps/" not in sign_in(rex).get("/bots/eliza/").content.decode()
