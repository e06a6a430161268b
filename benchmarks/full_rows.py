"""Rows of a full installation for `full_database.py`, sent by COPY."""

import random
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from string import ascii_lowercase
from typing import Any

TURNS_OF_STUDY = 10_000
CONCURRENT = 10  # studies that run at the same time and belong to one researcher; the first has readers judge
BOTS, BOTS_OF_STUDY = 20, 3
ITEMS, OPEN_ITEMS, RATERS, BATCH = 2_400, 400, 5, 20  # of a study of readers; nobody has judged the open ones
LABELLED = 0.8  # share of conversations whose replies their chatters judged
NOTHING = r"\N"
TABLES = (
    "crowd_worker", "crowd_participation", "crowd_assignment", "dialogues_dialogue", "dialogues_turn",
    "labels_label", "judging_batch", "judging_item",
)  # fmt: skip
COUNTED = ("studies_study", "dialogues_dialogue", "dialogues_turn", "labels_label", "judging_slot")

Line = tuple[Any, ...]


class _Lines:
    """A file of rows for COPY, made while PostgreSQL reads it."""

    def __init__(self, rows: Iterable[Line]) -> None:
        self.rows = iter(rows)
        self.rest = ""

    def read(self, size: int) -> str:
        parts, length = [self.rest], len(self.rest)
        while length < size and (row := next(self.rows, None)) is not None:
            line = "\t".join(map(str, row)) + "\n"
            parts.append(line)
            length += len(line)
        whole = "".join(parts)
        self.rest = whole[size:]
        return whole[:size]


def copy(table: str, columns: str, rows: Iterable[Line]) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.copy_expert(f"COPY {table} ({columns}) FROM STDIN", _Lines(rows), 1 << 18)


def is_filled() -> bool:
    from turnwise.labels.models import Label

    return Label.objects.exists()


def fill(turns: int) -> None:
    """Add so many turns with their studies, conversations, people, labels and queues."""
    from django.db import connection

    groups = max(1, round(turns / TURNS_OF_STUDY / CONCURRENT))
    studies = [_studies(group) for group in range(groups)]
    per_group = turns // groups // 21  # 21 turns a conversation
    random.seed(1)
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # no triggers and foreign keys; checks stay
    rows = _Rows(studies, per_group)
    rows.copy_chats()
    rows.copy_judgments()
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = DEFAULT")
        for table in TABLES:
            cursor.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), (SELECT max(id) FROM {table}))"
            )
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")


def counted() -> dict[str, int]:
    """Rows by table, and the size of the database."""
    from django.db import connection

    counts = {}
    with connection.cursor() as cursor:
        for table in COUNTED:
            cursor.execute(f"SELECT count(*) FROM {table}")
            (counts[table],) = cursor.fetchone()
        cursor.execute("SELECT pg_database_size(current_database())")
        (size,) = cursor.fetchone()
    return {**counts, "database_mb": round(size / 2**20)}


def _studies(group: int) -> list[Any]:
    """The studies of one researcher: the first has readers judge, in the others people chat."""
    from turnwise.accounts.models import User
    from turnwise.bots.models import Bot
    from turnwise.bots.services import register_bot, version_of
    from turnwise.judging.models import JudgingPlan
    from turnwise.studies.models import Study
    from turnwise.studies.services import save_study

    owner = User.objects.create_user(f"researcher-{group}" if group else "researcher")
    if not group:
        for n in range(BOTS):
            bot = register_bot(
                name=f"bot-{n}", title=f"Bot {n}", adapter="scripted", configuration={"replies": ["Well."]},
                owner=owner,
            )  # fmt: skip
            version_of(bot, {"bot": bot.name})
    bots = list(Bot.objects.order_by("pk")[:BOTS])
    made = []
    for n in range(CONCURRENT):
        study = Study(title=f"Study {n + 1} of group {group + 1}", languages=["en"], tags=[f"tag-{n}"])
        if n == 0:
            study.task = "judging"
        else:
            study.pay_amount = 2.5
        own = [bots[(n + k) % BOTS] for k in range(BOTS_OF_STUDY)]
        save_study(study, owner=owner, consent_text="…", targets=dict.fromkeys(own, 1_000) if n else {})
        if n == 0:
            JudgingPlan.objects.create(study=study, raters_per_item=RATERS, batch_size=BATCH)
        made.append(study)
    # The first researcher's are open, as are a tenth of all others. With those of the next two, 30 are: more
    # than an admin's Home shows, so that this page shows as much in a small database as in a full one.
    if group % 10 == 0 or group < 3:
        Study.objects.filter(pk__in=[study.pk for study in made]).update(state=Study.State.OPEN)
    else:
        Study.objects.filter(pk__in=[study.pk for study in made]).update(state=Study.State.CLOSED)
    return made


def first_turn(conversation: int) -> int:
    """The id of its turn 0. A conversation n has 7 + n % 7 exchanges after its opening; n counts from 1."""
    whole, rest = divmod(conversation, 7)
    return 1 + 15 * (conversation - 1) + 2 * (21 * whole + rest * (rest - 1) // 2)


class _Rows:
    """All rows, table by table; ids count from 1 in the order of the conversations."""

    def __init__(self, groups: list[list[Any]], per_group: int) -> None:
        from turnwise.bots.models import BotVersion
        from turnwise.studies.models import Ask, ConsentVersion, StudyBot

        self.groups = [[study.pk for study in group] for group in groups]
        self.per_group = per_group
        self.conversations = per_group * len(groups)
        self.asks = dict(Ask.objects.filter(number=0).values_list("study_id", "pk"))
        self.consents = dict(ConsentVersion.objects.values_list("study_id", "pk"))
        self.bots: dict[int, list[tuple[int, int]]] = {}
        for study, key, bot in StudyBot.objects.order_by("pk").values_list("study_id", "pk", "bot_id"):
            self.bots.setdefault(study, []).append((key, bot))
        self.versions = dict(BotVersion.objects.values_list("bot_id", "pk"))
        self.now = datetime.now(UTC)
        self.began = self.now - timedelta(minutes=self.conversations)
        words = ["".join(random.choices(ascii_lowercase, k=random.randint(2, 9))) for _ in range(2000)]
        self.sentences = [" ".join(random.choices(words, k=random.randint(4, 16))) for _ in range(5000)]
        self.labels = 0

    def _chats(self) -> Iterator[tuple[int, int, datetime]]:
        """Number, study and start of each conversation."""
        for n in range(1, self.conversations + 1):
            group = self.groups[(n - 1) // self.per_group]
            yield n, group[1 + n % (CONCURRENT - 1)], self.began + timedelta(minutes=n)

    def _bot(self, n: int, study: int) -> tuple[int, int]:
        return self.bots[study][n % BOTS_OF_STUDY]

    def copy_chats(self) -> None:
        chats = self._chats
        copy("crowd_worker", "id, pseudonym, panel, panel_id, created_at", (
            (n, f"W{n:09}", "prolific", f"p{n}", at) for n, _, at in chats()
        ))  # fmt: skip
        copy("crowd_participation", _PARTICIPATION, (
            self._participation(n, study, at) for n, study, at in chats()
        ))  # fmt: skip
        copy("crowd_assignment", "id, participation_id, study_id, study_bot_id, assigned_at, active_at, "
             "extensions, outcome, ended_at", (
            (n, n, study, self._bot(n, study)[0], at, at, 0, _ending(n), at if _ending(n) else NOTHING)
            for n, study, at in chats()
        ))  # fmt: skip
        copy("crowd_payentry", "study_id, participation, worker, reason, amount, currency, note, by, at", (
            (study, n, f"P{n:09}", reason, 2.5, "USD", "", "", at)
            for n, study, at in chats()
            for reason in (("promised", "earned") if _ending(n) else ("promised",))
        ))  # fmt: skip
        copy("dialogues_dialogue", "id, public_id, study_id, started_at, ended_at, ending, opening_turns, "
             "min_turns, max_turns, turns, bot_turns, due_0, due_1, closing", (
            (n, _uuid(), study, at, at if _ending(n) else NOTHING, _ending(n), 1, 14, 28, 15 + 2 * (n % 7),
             7 + n % 7, "{}", "{}", "f")
            for n, study, at in chats()
        ))  # fmt: skip
        copy("dialogues_seat", "dialogue_id, number, bot_id, worker_id, assignment_id, asks", (
            row
            for n, study, _ in chats()
            for row in (
                (n, 0, self._bot(n, study)[1], NOTHING, NOTHING, "[]"), (n, 1, NOTHING, n, n, "[]")
            )
        ))  # fmt: skip
        copy("dialogues_turn", "id, dialogue_id, position, text, created_at, key, bot_version_id, latency_ms",
             self._turns())  # fmt: skip
        copy("labels_label", _LABEL, self._chatters_labels())

    def _turns(self) -> Iterator[Line]:
        for n, study, at in self._chats():
            turn, version = first_turn(n), self.versions[self._bot(n, study)[1]]
            for position in range(15 + 2 * (n % 7)):
                text = random.choice(self.sentences)
                if position % 2:
                    yield turn + position, n, position, text, at, _uuid(), NOTHING, NOTHING
                else:
                    of_bot = (version, 700) if position else (NOTHING, NOTHING)
                    yield turn + position, n, position, text, at, NOTHING, *of_bot

    def _chatters_labels(self) -> Iterator[Line]:
        for n, study, at in self._chats():
            if n % 100 >= 100 * LABELLED:
                continue
            for position in range(2, 15 + 2 * (n % 7), 2):
                self.labels += 1
                yield (self.labels, study, first_turn(n) + position, n, "chatter", 1, self.asks[study], "ssa",
                       _answers(), 2000, 2500, at, at, 0)  # fmt: skip

    def copy_judgments(self) -> None:
        """The items of each study of readers are first replies in its researcher's other studies."""
        batches = ITEMS * RATERS // BATCH
        people = [
            (self.conversations + 1 + group * batches + n, 1 + group * batches + n, studies[0])
            for group, studies in enumerate(self.groups)
            for n in range(batches)
        ]
        at = self.now
        copy("crowd_worker", "id, pseudonym, panel, panel_id, created_at", (
            (who, f"W{who:09}", "prolific", f"p{who}", at) for who, _, _ in people
        ))  # fmt: skip
        copy("crowd_participation", _PARTICIPATION, (
            self._participation(who, study, at) for who, _, study in people
        ))  # fmt: skip
        copy("crowd_assignment", "id, participation_id, study_id, assigned_at, active_at, extensions, "
             "outcome, ended_at", (
            (who, who, study, at, at, 0, "complete", at) for who, _, study in people
        ))  # fmt: skip
        copy("judging_batch", "id, assignment_id, study_id, worker_id, public_id, language, size, done, "
             "cursor, gold_at", (
            (batch, who, study, who, _uuid(), "en", BATCH, BATCH, _uuid(), "{}")
            for who, batch, study in people
        ))  # fmt: skip
        keys = [_uuid() for _ in range(len(self.groups) * (ITEMS + OPEN_ITEMS))]
        copy("judging_item", "id, study_id, ask_id, turn_id, key, language", (
            (item, study, self.asks[study], turn, keys[item - 1], "en")
            for item, study, turn, _ in self._items()
        ))  # fmt: skip
        copy("labels_label", _LABEL, (
            (self._label(item, rater), study, turn, self.conversations + self._batch(item, nth, rater),
             "reader", 1, self.asks[study], "ssa", _answers(), 2000, 2500, at, at, 0)
            for item, study, turn, nth in self._items() if nth < ITEMS
            for rater in range(RATERS)
        ))  # fmt: skip
        copy("judging_slot", "item_id, number, study_id, key, language, is_swapped, occasion, asks_reason, "
             "batch_id, label_id", (
            (item, rater + 1, study, keys[item - 1], "en", "f", 1, "f",
             self._batch(item, nth, rater) if nth < ITEMS else NOTHING,
             self._label(item, rater) if nth < ITEMS else NOTHING)
            for item, study, _, nth in self._items()
            for rater in range(RATERS)
        ))  # fmt: skip

    def _items(self) -> Iterator[tuple[int, int, int, int]]:
        """Item, its study, the turn to judge, and its number within the study."""
        each = ITEMS + OPEN_ITEMS
        for group, studies in enumerate(self.groups):
            for nth in range(each):
                conversation = 1 + group * self.per_group + nth
                yield 1 + group * each + nth, studies[0], first_turn(conversation) + 2, nth

    def _label(self, item: int, rater: int) -> int:
        """Its id; those of open items stay unused."""
        return self.labels + (item - 1) * RATERS + rater + 1

    def _participation(self, n: int, study: int, at: datetime) -> Line:
        return (n, n, study, self.consents[study], at, f"P{n:09}", f"r{n}", f"c{n}", "", "", "{}", "", "", "",
                "", "{}", "f", 1)  # fmt: skip

    def _batch(self, item: int, nth: int, rater: int) -> int:
        group = (item - 1) // (ITEMS + OPEN_ITEMS)
        return 1 + group * (ITEMS * RATERS // BATCH) + nth // BATCH * RATERS + rater


_PARTICIPATION = (
    "id, worker_id, study_id, consent_id, consented_at, pseudonym, resume_code, completion_code, "
    "excluded_reason, submission, panel_values, address, signs, proposed_reason, known_by, condition, "
    "pilot, number"
)
_LABEL = (
    "id, study_id, turn_id, rater_id, party, occasion, ask_id, question_set, answers, shown_ms, answer_ms, "
    "created_at, changed_at, changes"
)


def _ending(n: int) -> str:
    return "complete" if n % 20 else ""


def _uuid() -> str:
    return f"{random.getrandbits(128):032x}"


def _answers() -> str:
    return f'{{"sensible": {random.choice(("true", "false"))}, "specific": false}}'
