"""Pages of staff, as `benchmarks/pages.py` requests them, and the rows that some of them need.

A test holds the list to the addresses of the product: tests/project/test_query_counts.py.
"""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from operator import attrgetter
from typing import Any

EXPORTS = ("turns.csv", "turns.jsonl", "participants.csv", "payments.csv")
OF_NO_STUDY = (
    ("home", "/home/"),
    ("studies", "/studies/"),
    ("studies: page 10", "/studies/?page=10"),
    ("studies: archived", "/studies/?show=archived"),
    ("anchor packs", "/anchors/"),
    ("studies: search", "/studies/?find=study+77"),
    ("studies: tag", "/studies/?tag=tag-3"),
    ("new study", "/studies/new/"),
    ("bots", "/bots/"),
    ("bots: last page", "/bots/?page=10"),
    ("bots: search", "/bots/?find=bot+77"),
    ("new bot", "/bots/new/"),
    ("new bot: its settings", "/bots/new/http/"),
    ("bots side by side", "/bots/side-by-side/"),
    ("compare: choose", "/compare/"),
    ("compare: perplexity", "/compare/perplexity/"),
    ("compare: human-likeness", "/compare/human-likeness/"),
    ("plan", "/plan/"),
    ("account", "/account/"),
    ("account: e-mail address", "/account/e-mail/"),
    ("account: second factor", "/account/second-factor/"),
    ("account: passkeys", "/account/passkeys/"),
    ("account: single sign-on", "/account/sign-on/"),
    ("account: sessions", "/account/sessions/"),
    ("account: mails", "/account/mails/"),
    ("contexts", "/contexts/"),
    ("new contexts", "/contexts/new/"),
    ("responses", "/responses/"),
    ("new responses", "/responses/new/"),
    ("responses from a file", "/responses/upload/"),
    ("questions", "/questions/"),
    ("new questions", "/questions/new/"),
    ("questions from a file", "/questions/import/"),
    ("knowledge", "/knowledge/"),
    ("new knowledge", "/knowledge/new/"),
    ("qualifications", "/qualifications/"),
    ("new qualification", "/qualifications/new/"),
    ("messages", "/messages/"),
    ("recently deleted", "/deleted/"),
    ("data of a person", "/people/data/"),
    ("tokens", "/tokens/"),
    ("languages", "/languages/"),
    ("webhooks", "/webhooks/"),
    ("password", "/password/"),
    ("manual", "/manual/"),
    ("manual: search", "/manual/?find=interval"),
    ("manual: a page", "/manual/statistics/"),
    ("people", "/people/"),
    ("people: page 10", "/people/?page=10"),
    ("groups", "/groups/"),
    ("audit log", "/people/audit-log/"),
    ("system", "/system/"),
)
OF_STUDY = (
    ("", ""),
    ("edit", "edit/"),
    ("check before opening", "opening/"),
    ("stopping rule", "stopping/"),
    ("plan of a study", "plan/"),
    ("sharing", "sharing/"),
    ("transfer", "transfer/"),
    ("facets", "facets/"),
    ("panels", "panels/"),
    ("preview", "preview/"),
    ("preview: the work", "preview/work/"),
    ("rehearsal", "rehearsal/"),
    ("privacy", "privacy/"),
    ("personal data in texts", "privacy/texts/"),
    ("for the ethics board", "privacy/ethics/"),
    ("limits", "limits/"),
    ("quality", "quality/"),
    ("review", "review/"),
    ("imports", "imports/"),
    ("report", "report/"),
    ("has the report changed?", "report/stamp/"),
    ("monitor", "monitor/"),
    ("participants", "participants/"),
    ("participants, page 100", "participants/?page=100"),
    ("participants with signs", "participants/?signs=yes"),
    ("payments", "payments/"),
    ("conversations", "dialogues/"),
    ("readers and chatters", "readers/"),
    ("second groups", "second-group/"),
    ("bundle", "bundle/"),
    ("publish", "publish/"),
)
NARROWED = (
    ("text", "text=a1b+2c"),
    ("text said nowhere", "text=nowhere"),
    ("panel id", "worker=p777"),
    ("under way", "state=open"),
    ("excluded", "state=excluded"),
    ("score", "lowest=80"),
    ("a score that none has", "lowest=99&highest=99.5"),
    ("replies", "replies=12"),
    ("faults", "faults=on"),
    ("disputed", "disputed=on"),
)
OF_JUDGING = (
    ("study", ""), ("report", "report/"), ("queue", "queue/"), ("items", "items/"), ("monitor", "monitor/"),
    ("systems side by side", "report/contexts/"), ("battery", "queue/battery/"), ("gold", "queue/gold/"),
    ("machine judges", "judges/"), ("draws", "judges/draws/"), ("labels of a judge", "judges/import/"),
    ("experts", "experts/"), ("anchors", "queue/anchors/"), ("anchor pack", "anchor-pack/"),
    ("adjudication", "adjudication/"),
)  # fmt: skip
OF_BOT = (
    ("settings", ""), ("form", "edit/"), ("history", "history/"), ("judged", "judged/"),
    ("audits", "audits/"), ("sweeps", "sweeps/"), ("try", "try/"),
    ("prices", "prices/"), ("budget", "budget/"),
)  # fmt: skip

# Pages of things that exist once or a few times: model, and the field that the address contains.
OF_ONE = {
    "contexts:set": ("contexts.ContextSetVersion", {"pk": "context_set_id"}),
    "contexts:import": ("contexts.ContextSetVersion", {"pk": "context_set_id"}),
    "contexts:version": ("contexts.ContextSetVersion", {"pk": "context_set_id", "number": "number"}),
    "responses:run": ("responses.ResponseRun", {"pk": "pk"}),
    "knowledge:base": ("knowledge.BaseVersion", {"pk": "base_id"}),
    "knowledge:import": ("knowledge.BaseVersion", {"pk": "base_id"}),
    "knowledge:version": ("knowledge.BaseVersion", {"pk": "base_id", "number": "number"}),
    "knowledge:entity": (
        "knowledge.Entity",
        {"pk": "version.base_id", "number": "version.number", "entity": "number"},
    ),
    "knowledge:article": (
        "knowledge.Article",
        {"pk": "version.base_id", "number": "version.number", "article": "number"},
    ),
    "questions:set": ("questions.SetVersion", {"name": "own_set.name"}),
    "questions:questions": ("questions.SetVersion", {"key": "key"}),
    "questions:as_worker": ("questions.SetVersion", {"key": "key"}),
    "questions:edit": ("questions.SetVersion", {"name": "own_set.name"}),
    "questions:import_version": ("questions.SetVersion", {"name": "own_set.name"}),
    "groups:group": ("groups.Group", {"pk": "pk"}),
    "studies:hand_over": ("accounts.User", {"person": "pk"}),
    "quality:qualification": ("quality.Qualification", {"pk": "pk"}),
    "transcripts:import": ("dialogues.TranscriptImport", {"pk": "pk"}),
    "experts:item": ("judging.Item", {"pk": "study_id", "key": "key"}),
    "judges:run": ("judges.JudgeRun", {"pk": "study_id", "run_id": "pk"}),
    "audits:audit": ("audits.Audit", {"pk": "pk", "name": "bot.name"}),
    "comparisons:sweep": ("responses.Sweep", {"pk": "pk", "name": "bot.name"}),
    "languages:language": ("languages.Language", {"pk": "pk"}),
    "languages:settings": ("languages.Language", {"pk": "pk"}),
    "webhooks:webhook": ("webhooks.Webhook", {"pk": "pk"}),
    "judging:pack": ("judging.AnchorPack", {"pack": "pk"}),
    "crowd:prolific": ("crowd.StudyPanel", {"pk": "study_id"}),
    "quality:history": ("crowd.Participation", {"pk": "study_id", "participation": "pk"}),
    "privacy:withdraw_for": ("crowd.Participation", {"pk": "study_id", "participation": "pk"}),
}


def pages(large: int, judging: int, others: Sequence[int], bot: str) -> Iterator[tuple[str, str]]:
    """Name and address of each page that staff have, of studies with these keys and a bot of this name."""
    from turnwise.dialogues.models import Dialogue
    from turnwise.judging.models import Item

    talk = Dialogue.objects.filter(study=large, ending="complete").order_by("-pk")[0]
    assert talk.participation
    worker = talk.participation.pseudonym
    item = Item.objects.filter(study=judging).order_by("pk")[0]
    yield from OF_NO_STUDY
    yield from (
        (f"study: {name}" if name else "study", f"/studies/{large}/{path}") for name, path in OF_STUDY
    )
    participants, explorer = f"/studies/{large}/participants/", f"/studies/{large}/dialogues/"
    yield "participants: search", f"{participants}?find={worker}"
    yield "explorer: worker", f"{explorer}?worker={worker}"
    yield "explorer: bot", f"{explorer}?bot={bot}"
    wanted = f"text=a1&bot={bot}&lowest=20&replies=8&faults=on&disputed=on"
    yield "explorer: all at once", f"{explorer}?{wanted}"
    yield from ((f"explorer: {name}", f"{explorer}?{query}") for name, query in NARROWED)
    yield "conversation", f"/dialogues/{talk.public_id}/"
    yield "conversation: narrowed", f"/dialogues/{talk.public_id}/?lowest=80"
    yield from (
        (f"judging: {name}", f"/studies/{judging}/{path}")
        for name, path in (*OF_JUDGING, ("item", f"items/{item.key}/"))
    )
    yield from ((f"bot: {name}", f"/bots/{bot}/{path}") for name, path in OF_BOT)
    yield "compare: studies", "/compare/?" + "&".join(f"study={each}" for each in (large, *others))
    yield from _further_pages(judging)
    yield from ((f"export: {name}", f"/studies/{large}/{name}") for name in EXPORTS)


# By the readers who have judged turns already.
JUDGED_RESPONSES = """
INSERT INTO labels_label (study_id, response_id, rater_id, party, occasion, ask_id, question_set, answers,
                          shown_ms, answer_ms, created_at, changed_at, changes)
SELECT i.study_id, i.response_id, b.worker_id, 'reader', 1, i.ask_id, 'ssa',
       jsonb_build_object('sensible', random() < 0.6, 'specific', false), 2000, 2500, now(), now(), 0
  FROM (SELECT *, row_number() OVER (ORDER BY id) - 1 AS nth FROM judging_item
         WHERE study_id = {judging} AND response_id IS NOT NULL) AS i
 CROSS JOIN generate_series(0, {raters} - 1) AS r
  JOIN judging_batch AS b ON b.id = 1 + (i.nth / {batch} * {raters} + r) % {batches};
UPDATE judging_slot AS s SET batch_id = b.id, label_id = l.id
  FROM (SELECT *, row_number() OVER (PARTITION BY response_id ORDER BY id) AS number FROM labels_label
         WHERE study_id = {judging} AND response_id IS NOT NULL) AS l
  JOIN judging_item AS i ON i.response_id = l.response_id AND i.study_id = l.study_id
  JOIN judging_batch AS b ON b.worker_id = l.rater_id AND b.study_id = l.study_id
 WHERE s.item_id = i.id AND s.number = l.number;
UPDATE judging_batch AS b SET done = s.n, size = s.n
  FROM (SELECT batch_id, count(*) AS n FROM judging_slot WHERE study_id = {judging} GROUP BY 1) AS s
 WHERE s.batch_id = b.id;
VACUUM ANALYZE
"""

TONE: dict[str, Any] = {
    "format": 1, "key": "tone", "title": "Tone of a reply", "subjects": ["turn", "response"],
    "source": "our own",
    "questions": [
        {
            "key": "polite",
            "wording": "Is it polite?",
            "choices": [{"value": True, "label": "Yes"}, {"value": False, "label": "No"}],
        }
    ],
}  # fmt: skip


def _further_pages(judging: int) -> Iterator[tuple[str, str]]:
    """Pages of what not every installation has, as far as this one does."""
    from django.apps import apps
    from django.urls import reverse

    from turnwise.bots.models import Bot
    from turnwise.dialogues.models import Dialogue
    from turnwise.judging.models import Item
    from turnwise.studies.asks import About
    from turnwise.studies.models import Ask, Study

    for name, (model, fields) in OF_ONE.items():
        newest = apps.get_model(model).objects.order_by("-pk").first()
        if newest:
            values = {key: attrgetter(field)(newest) for key, field in fields.items()}
            yield name, reverse(name, kwargs=values)
    for relayed in Dialogue.objects.filter(origin=Dialogue.Origin.RELAYED).order_by("-pk")[:1]:
        yield "a relayed conversation", f"/relays/{relayed.pk}/"
        yield "a relayed conversation, corrected", f"/relays/{relayed.pk}/turns/"
    for item in Item.objects.filter(study=judging, response__isnull=False).order_by("pk")[:1]:
        assert item.response
        yield "judging: a context", f"/studies/{judging}/report/contexts/{item.response.context_id}/"
    for second in Study.objects.filter(task="judging").exclude(pk=judging).order_by("-pk")[:1]:
        yield "judging: both groups", f"/studies/{judging}/second-group/{second.pk}/"
    for pairs in Study.objects.filter(task="pairs").order_by("-pk")[:1]:
        yield "pairs: add", f"/studies/{pairs.pk}/queue/pairs/"
    for ask in Ask.objects.filter(about=About.PERSON).order_by("-pk")[:1]:
        yield "questionnaire", f"/studies/{ask.study_id}/questionnaires/before/"
    for operated in Bot.objects.filter(adapter="operator").order_by("-pk")[:1]:
        yield "bot: operate", f"/bots/{operated.name}/operate/"


def create_further_data(owner: Any, *, judging: int, chats: int, values: Mapping[str, Any]) -> None:
    """One of each of these, and two systems' responses to 1,477 contexts, judged.

    Args:
        owner: whose all is.
        judging: the study in which the responses are judged.
        chats: one in which people chat, for what comes from elsewhere.
        values: what the statements of the plan name.
    """
    from django.db import connection

    from turnwise.bots.models import Bot
    from turnwise.studies.models import Study

    version = _responses(owner, Study.objects.get(pk=judging))
    with connection.cursor() as cursor:
        for statement in JUDGED_RESPONSES.format(**values).split(";\n"):
            cursor.execute(statement)
    _of_bot(owner, Bot.objects.get(name="bot-1"), version)
    _of_judge(owner, Bot.objects.get(name="bot-1"), judging)
    _of_people(owner)
    _from_elsewhere(owner, Study.objects.get(pk=chats))
    _other_studies(owner)


def _responses(owner: Any, study: Any) -> Any:
    from django.utils import timezone

    from turnwise.contexts.models import ContextSet
    from turnwise.contexts.services import load_open_mtb
    from turnwise.judging.items.subjects import add_responses
    from turnwise.responses.models import Response, ResponseRun, Source

    version, now = load_open_mtb(), timezone.now()
    ContextSet.objects.update(owner=owner)  # as if they had imported it, so that they may go on
    for system in ("Alpha", "Beta"):
        run = ResponseRun.objects.create(
            context_version=version, source=Source.FILE, system=system, owner=owner,
            state=ResponseRun.State.DONE,
        )  # fmt: skip
        Response.objects.bulk_create(
            Response(run=run, context=each, text=f"{system} answers {each.key}.", created_at=now)
            for each in version.contexts.all()
        )
        add_responses(study, run)
    return version


def _of_bot(owner: Any, bot: Any, version: Any) -> None:
    from turnwise.audits.services import start
    from turnwise.bots.services import register_bot
    from turnwise.responses.models import Sweep

    start(bot, by=owner)
    Sweep.objects.create(bot=bot, context_version=version, owner=owner, seed=1)
    register_bot(name="wizard", title="Wizard", adapter="operator", owner=owner)


def _of_judge(owner: Any, bot: Any, judging: int) -> None:
    """A machine judge that agrees with nobody in particular about all responses."""
    from django.utils import timezone

    from turnwise.judges.models import JudgeRun, MachineLabel
    from turnwise.judges.services import items_to_judge, start
    from turnwise.studies.models import Ask

    run = start(Ask.objects.get(study=judging, number=0), bot, draws=1, by=owner)
    now = timezone.now()
    MachineLabel.objects.bulk_create(
        MachineLabel(
            run=run, item=item, outcome="answered", at=now,
            answers={"sensible": n % 3 > 0, "specific": n % 6 > 3},
        )
        for n, item in enumerate(items_to_judge(run.ask))
    )  # fmt: skip
    JudgeRun.objects.filter(pk=run.pk).update(state=JudgeRun.State.DONE, finished_at=now)


def _of_people(owner: Any) -> None:
    from turnwise.knowledge.models import KnowledgeBase
    from turnwise.knowledge.services import load_shipped
    from turnwise.quality.models import MessageTemplate, Qualification
    from turnwise.questions.services import create_set

    load_shipped()
    KnowledgeBase.objects.update(owner=owner)
    create_set(TONE, owner=owner)
    questions = [{"text": "Yes?", "choices": ["Yes", "No"], "right": [0], "why": ""}]
    Qualification.objects.create(owner=owner, title="Reads", questions=questions, pass_mark=1)
    MessageTemplate.objects.create(owner=owner, title="Thanks", text="Thanks")


def _from_elsewhere(owner: Any, study: Any) -> None:
    from turnwise.crowd.models import StudyPanel
    from turnwise.transcripts import importing, relaying

    importing.upload(study, BytesIO(b"A: Hi\nB: Yes\n" * 50), name="talk.txt", by=owner)
    relaying.begin(study, system="Elsewhere", by=owner)
    StudyPanel.objects.create(study=study, panel="prolific", token="TURNWISE_PROLIFIC_NOT_SET")


def _other_studies(owner: Any) -> None:
    """A second group of readers, pairs, and a study that asks people about themselves."""
    from turnwise.judging.models import JudgingPlan
    from turnwise.studies.asks import UNDER_EACH_REPLY, About, AskSpec, Moment
    from turnwise.studies.models import Study
    from turnwise.studies.services import save_study

    person = AskSpec("demographics", About.PERSON, Moment.BEFORE_WORK)
    for task, asks in (("judging", None), ("pairs", None), ("conversation", [UNDER_EACH_REPLY, person])):
        study = Study(title=f"Beside: {task}", languages=["en"], task=task)
        save_study(study, owner=owner, consent_text="…", targets={}, asks=asks)
        if task != "conversation":
            JudgingPlan.objects.create(study=study, raters_per_item=3, batch_size=20)
