"""A bot behind a real service judges items: outcomes, draws, retries, and what people's figures say of it."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from evaluation.machine_judges.template import example_items
from tests.asking import ANSWERS
from tests.chatbots.local_service import Sent
from tests.conftest import MakeMeeting, MakePairs, MakeStudy
from tests.desks import judge
from tests.judges.conftest import GOOD, MakeStudyOfTwo, judged_text, said
from tests.planted import computed, talked
from tests.rewriting import rewriting
from tests.tasks.two_people.conftest import come
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSet
from turnwise.contexts.services import import_version, save_set
from turnwise.dialogues.models import Turn
from turnwise.dialogues.services import SeatOccupant, create_dialogue
from turnwise.judges import queries, services
from turnwise.judges.judge_card import card_of
from turnwise.judges.judged_labels import judged_items
from turnwise.judges.models import JudgeRun, MachineLabel
from turnwise.judges.services import STORED_CHARS
from turnwise.judges.tasks import judge_slice
from turnwise.judging.items import subjects
from turnwise.judging.models import Item
from turnwise.labels.models import Label
from turnwise.live.jobs import JUDGES, exclusive_lock
from turnwise.privacy.withdrawal import withdraw
from turnwise.questions.question_sets import question_set
from turnwise.responses.services import store_file
from turnwise.studies.models import Study

# The bot and the run's steps use connections of their own, which see only what is committed.
pytestmark = pytest.mark.django_db(transaction=True)

MakeJudge = Callable[..., Bot]


def started(study: Study, bot: Bot, *, draws: int = 1) -> JudgeRun:
    return services.start(study.asks.get(number=0), bot, draws=draws, by=study.owner)


def finished(study: Study, bot: Bot, *, draws: int = 1) -> JudgeRun:
    """A run that was worked on to its end."""
    run = started(study, bot, draws=draws)
    work_to_the_end(run)
    return reread(run)


def work_to_the_end(run: JudgeRun) -> None:
    while judge_slice(run.pk):
        pass


def reread(run: JudgeRun) -> JudgeRun:
    return queries.runs_of(run.study).get(pk=run.pk)


def outcomes(run: JudgeRun) -> Counter[str]:
    return Counter(run.labels.values_list("outcome", flat=True))


def test_a_judge_labels_every_item_in_every_draw_once(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge
) -> None:
    study, bot = make_items(3), make_judge()

    run = finished(study, bot, draws=2)

    assert run.state == JudgeRun.State.DONE
    assert run.bot_version is not None
    labels = list(run.labels.all())
    items = Item.objects.filter(study=study)
    assert {(label.item_id, label.draw) for label in labels} == {(i.pk, d) for i in items for d in (1, 2)}
    assert len(labels) == 12
    assert {json.dumps(label.answers) for label in labels} == {GOOD}
    assert labels[0].latency_ms is not None
    assert not Label.objects.exists()


def test_the_service_gets_the_words_of_the_set_and_the_item_alone(
    make_items: MakeStudyOfTwo, start_service: Any, rex: User
) -> None:
    study = make_items(1)
    service = start_service(lambda _text: GOOD)
    settings = {"base_url": service.url, "model": "judge-1", "retries": 0}
    bot = Bot.objects.create(name="umpire", title="Umpire", adapter="openai-chat", configuration=settings)

    finished(study, bot)

    asked = [request for request in service.received if judged_text(request)]
    assert {judged_text(request) for request in asked} == {"Alpha answers c1.", "Beta answers c1."}
    content = asked[0].json["messages"][-1]["content"]
    assert "Does it make sense?" in content
    assert len({request.json.get("seed") for request in asked}) == 2
    [_ask] = queries.judgeable_asks(study)
    assert queries.prompt_preview(_ask) in {request.json["messages"][-1]["content"] for request in asked}


BAD: list[tuple[Any, str]] = [
    ("It makes sense, I think.", "outside"),
    ("Yes", "outside"),
    ("page " * 6_000, "outside"),
    ('{"sensible": true}', "outside"),
    (said("I will not judge people.", refusal="I will not judge people."), "refused"),
    (GOOD, "answered"),
]


@pytest.mark.parametrize(("answer", "outcome"), BAD, ids=range(len(BAD)))
def test_what_a_service_says_has_an_outcome_and_is_never_guessed(
    answer: Any, outcome: str, make_items: MakeStudyOfTwo, make_judge: MakeJudge
) -> None:
    run = finished(make_items(1), make_judge(lambda _text: answer))

    assert run.state == JudgeRun.State.DONE
    assert outcomes(run) == {outcome: 2}
    label = run.labels.first()
    assert label
    assert (label.answers is None) == (outcome != "answered")
    assert len(label.text) <= STORED_CHARS
    if isinstance(answer, str) and len(answer) > STORED_CHARS:
        assert label.characters > STORED_CHARS
    assert queries.progress(run).had == 2


def test_a_failing_service_is_tried_again_and_a_retry_asks_only_for_failures(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge
) -> None:
    broken = True

    def answer(text: str) -> Any:
        fails = broken and text == "Beta answers c1."  # more failures in a row would rest the bot
        return Sent({"error": {"message": "overloaded"}}, status=400) if fails else GOOD

    run = finished(make_items(3), make_judge(answer))

    assert (run.state, outcomes(run)) == (JudgeRun.State.FAILED, {"answered": 5, "failed": 1})
    assert "1 answer failed 3 times" in run.reason
    assert set(run.labels.filter(outcome="failed").values_list("attempts", flat=True)) == {3}
    kept = dict(run.labels.filter(outcome="answered").values_list("pk", "at"))

    broken = False
    services.go_on(run.pk)
    work_to_the_end(run)

    assert (reread(run).state, outcomes(run)) == (JudgeRun.State.DONE, {"answered": 6})
    assert dict(run.labels.filter(pk__in=kept).values_list("pk", "at")) == kept


def test_a_complete_run_goes_on_with_items_that_were_added(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge, make_contexts: Any, make_run: Any
) -> None:
    study = make_items(2)
    run = finished(study, make_judge())
    with pytest.raises(ValidationError, match="nothing to continue"):
        services.go_on(run.pk)

    subjects.add_responses(study, make_run(make_contexts(1), "Gamma"))
    services.go_on(run.pk)
    work_to_the_end(run)

    assert outcomes(run) == {"answered": 5}


def test_a_cancelled_run_keeps_its_labels_and_asks_no_more(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge
) -> None:
    run = started(make_items(2), make_judge())

    assert services.cancel(run, now=timezone.now())

    assert judge_slice(run.pk) is False
    assert (reread(run).state, run.labels.count()) == (JudgeRun.State.CANCELLED, 0)


def test_while_one_process_works_on_a_run_another_does_nothing(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge
) -> None:
    run = started(make_items(1), make_judge())

    with exclusive_lock(JUDGES, run.pk):
        assert judge_slice(run.pk) is False

    assert not run.labels.exists()


def test_the_database_refuses_a_second_label_of_an_item_and_draw(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge
) -> None:
    run = finished(make_items(1), make_judge())
    label = run.labels.first()
    assert label
    label.pk = None

    with pytest.raises(IntegrityError), transaction.atomic(), rewriting():
        label.save()


def test_the_same_template_is_one_judge_and_works_once_at_a_time(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge
) -> None:
    study, bot = make_items(1), make_judge()
    run = finished(study, bot)

    again = started(study, bot)

    assert again.judge == run.judge
    assert started(study, bot, draws=3).judge != run.judge
    with pytest.raises(ValidationError, match="is judging these items"):
        started(study, bot)


def test_what_cannot_be_judged_is_refused_in_words(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge, make_pairs: MakePairs, make_queue: Any, rex: User
) -> None:
    bot, study = make_judge(), make_items(1)
    with pytest.raises(ValidationError, match="no items"):
        started(make_pairs(), bot)
    with pytest.raises(ValidationError, match="no items"):
        started(make_queue(), bot)
    with pytest.raises(ValidationError, match="choose 1 to 9"):
        started(study, bot, draws=10)
    Bot.objects.filter(pk=bot.pk).update(active=False)
    bot.refresh_from_db()
    with pytest.raises(ValidationError, match="switched off"):
        started(study, bot)


def test_gold_items_and_items_out_of_the_queue_are_not_judged(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge
) -> None:
    study = make_items(3)
    first, second, *others = Item.objects.filter(study=study).order_by("pk")
    Item.objects.filter(pk=first.pk).update(right_answers={"sensible": [True]})
    Item.objects.filter(pk=second.pk).update(removed_at=timezone.now())

    run = finished(study, make_judge())

    assert set(run.labels.values_list("item", flat=True)) == {item.pk for item in others}


def test_machine_labels_change_no_figure_of_people(make_items: MakeStudyOfTwo, make_judge: MakeJudge) -> None:
    study = make_items(3)
    judge(study, lambda _item: ANSWERS["ssa"])
    before = computed(study).result
    assert before
    progress_before = study.items.filter(slots__label__isnull=False).count()

    run = finished(study, make_judge(lambda _text: '{"sensible": false}'))

    assert outcomes(run) == {"answered": 6}
    after = computed(study).result
    assert after
    assert {key: figures for key, figures in after.items() if key != "assisted"} == before
    assert study.items.filter(slots__label__isnull=False).count() == progress_before
    assert Label.objects.count() == 6


def test_labels_go_with_the_conversation_that_was_withdrawn(
    make_study: MakeStudy, make_queue: Any, make_judge: MakeJudge
) -> None:
    talks = make_study(min_turns=2)
    goes, stays = talked(talks, [(True, True)] * 2), talked(talks, [(True, True)] * 2)
    readers = make_queue()
    subjects.add_turns(readers, talks, language="en")
    run = finished(readers, make_judge())
    assert run.labels.count() == 4

    assert goes.participation
    withdraw(goes.participation.pk)

    left = MachineLabel.objects.filter(run=run)
    assert set(left.values_list("item__turn__dialogue", flat=True)) == {stays.pk}


def test_an_answer_about_an_item_that_has_gone_is_dropped(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge
) -> None:
    study = make_items(2)
    gone = Item.objects.filter(study=study).order_by("pk").first()
    assert gone
    key = gone.response.text if gone.response else ""

    def answer(text: str) -> str:
        if text == key:
            Item.objects.filter(pk=gone.pk).delete()
        return GOOD

    run = finished(study, make_judge(answer))

    assert (run.state, outcomes(run)) == (JudgeRun.State.DONE, {"answered": 3})


def test_what_a_machine_wrote_about_a_shared_conversation_goes_with_a_withdrawal(
    make_meeting: MakeMeeting, make_queue: Any, make_judge: MakeJudge
) -> None:
    """The partner's messages and the labels about them stay, but the machine may have quoted the others."""
    meeting = make_meeting()
    first, second = come(meeting), come(meeting)
    dialogue = create_dialogue(
        meeting, SeatOccupant(assignment=first), SeatOccupant(assignment=second), now=timezone.now()
    )
    Turn.objects.bulk_create(
        Turn(dialogue=dialogue, position=n, text=text, created_at=timezone.now())
        for n, text in enumerate(("I am Wanda", "Hello Wanda"))
    )
    readers = make_queue()
    answer = Turn.objects.get(position=1)
    item = Item.objects.create(
        study=readers, ask=readers.asks.get(number=0), turn=answer, key=uuid4(), language="en"
    )
    run = started(readers, make_judge(lambda _text: "The reply to “I am Wanda” is fine."))
    work_to_the_end(run)
    assert "Wanda" in run.labels.get(item=item).text

    withdraw(first.participation_id)

    label = run.labels.get(item=item)
    assert (label.outcome, label.text, label.why) == ("outside", "", "")


def test_an_item_that_is_a_worked_example_is_labelled_and_left_out_of_comparisons(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge
) -> None:
    study = make_items(2)
    [example, *_others] = example_items(question_set("ssa"))
    contexts = save_set(ContextSet(name="worked", title="Worked", licence="CC0-1.0", owner=study.owner))
    row = ContextRow(1, "worked-1", tuple(example.before), "", "en", False, "")
    version = import_version(contexts, [row], origin="the worked example")
    [context] = version.contexts.all()
    answers = {(context.pk, 1): f" {example.text} ".upper()}
    subjects.add_responses(study, store_file(version, answers, system="Gamma", owner=study.owner))
    [item] = Item.objects.filter(response__context=context)

    run = finished(study, make_judge())

    assert list(run.labels.filter(has_seen=True).values_list("item", flat=True)) == [item.pk]
    judged = judged_items(run)
    assert len(judged) == 5
    assert len(judged.judge.item) == 4
    assert card_of(run).seen == 1
