# Written by scripts/blocking_client.py: change ../asynchronous/studies.py, then run make fmt.
"""A study of an installation: made, changed, rehearsed, opened and read."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

from turnwise.client.blocking.connection import HOUR, Client
from turnwise.client.blocking.judging import Judge
from turnwise.client.blocking.records import Records
from turnwise.client.blocking.study_parts import StudyParts
from turnwise.client.rows import Dialogue, Finding, Label, Participant, Turn

_FORMATS = {".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """Result of a rehearsal.

    Attributes:
        verdict: the outcome in a sentence.
        holds: whether all findings hold; None: that cannot be told.
        findings: each injected effect.
        study: the rehearsed copy, with its labels, report and bundle.
    """

    verdict: str
    holds: bool | None
    findings: tuple[Finding, ...]
    study: "Study"


class Study(StudyParts):
    """A study. Its values are those of the newest answer: `refresh` reads them again.

    Attributes:
        code: code in its addresses.
        details: all values, as `GET /api/studies/CODE` describes them.
    """

    def __init__(self, client: Client, details: Mapping[str, Any]) -> None:
        super().__init__(client, details["code"])
        self.details = dict(details)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.code} “{self.title}”, {self.state}>"

    @property
    def link(self) -> str:
        """Link for workers; once the study is open, anyone who has it can take part."""
        return self._client.address + str(self.details["entry"])

    # --- find and make -------------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        client: Client,
        title: str,
        *,
        preset: str = "empty",
        task: str = "",
        bots: Mapping[str, int] | None = None,
        **fields: Any,
    ) -> Self:
        """Make a draft.

        Args:
            client: connection to the installation.
            title: title of the study.
            preset: key of a preset; `client.get("/presets")` lists them.
            task: of an own design, what workers do; empty: they talk with chatbots.
            bots: by name of a bot, how many conversations with it are wanted.
            fields: any field of the study's page, such as `consent_text` or `min_turns`.

        Raises:
            ApiError: a value is refused; `errors` names the fields.
        """
        sent = {"title": title, "preset": preset, "task": task, "bots": dict(bots or {}), **fields}
        return cls(client, client.call("POST", "/studies", sent))

    @classmethod
    def get(cls, client: Client, code: str) -> Self:
        """Find the study with this code, on which you work."""
        return cls(client, client.get(f"/studies/{code}"))

    @classmethod
    def find(cls, client: Client, words: str = "", **filters: Any) -> Iterator[dict[str, Any]]:
        """Yield summaries of the studies that you may read, the newest first.

        Args:
            client: connection to the installation.
            words: part of a title, a code, or the name of an owner.
            filters: `tag`, `state`, `archived` or `since`.
        """
        return client.pages("/studies", find=words or None, **filters)

    # --- values --------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Its title."""
        return str(self.details["title"])

    @property
    def state(self) -> str:
        """State: draft, open, paused or closed."""
        return str(self.details["state"])

    @property
    def settings(self) -> dict[str, Any]:
        """Fields of its page, which `change` takes."""
        return dict(self.details["settings"])

    @property
    def bots(self) -> dict[str, int]:
        """By name of a bot, how many conversations with it are wanted."""
        return {each["name"]: each["target"] for each in self.details["bots"]}

    def refresh(self) -> Self:
        """Read its values again."""
        return self._take(self._client.get(self._path()))

    # --- change --------------------------------------------------------------------------------

    def change(self, **fields: Any) -> Self:
        """Change fields of its page; what an opened study fixes is refused."""
        return self._take(self._client.call("PATCH", self._path(), fields))

    def set_bots(self, bots: Mapping[str, int]) -> Self:
        """Replace its bots and their targets; conversations with others stay."""
        return self._take(self._client.call("PUT", self._path("/bots"), dict(bots)))

    def asks(self) -> list[dict[str, Any]]:
        """Asks of the study in order; its report begins with the first."""
        found: list[dict[str, Any]] = self._client.get(self._path("/asks"))
        return found

    def set_asks(self, asks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Replace what a draft asks: of each `question_set`, `about`, `moment` and `required`."""
        found: list[dict[str, Any]] = self._client.call("PUT", self._path("/asks"), [*map(dict, asks)])
        return found

    # --- queue and people of a judging study ---------------------------------------------------

    def make_second_group(self, **sample: Any) -> Self:
        """Make the draft of a study whose raters judge a part of this one again.

        Args:
            sample: `number`, `raters`, `seed` and `language`, as POST …/second-groups takes them.
        """
        made = self._client.call("POST", self._path("/second-groups"), sample)
        return type(self).get(self._client, made["code"])

    def compare_second_group(self, other: str) -> list[dict[str, Any]]:
        """Scores of both groups over the items that both judged; `other` is the code of the second study."""
        found = self._client.get(self._path(f"/second-groups/{other}"))
        return list(found["rows"])

    def judge(self, bot: str, *, ask: int | None = None, draws: int = 1) -> Judge:
        """Have a bot judge all items of an ask, beside people; `wait` waits for it.

        Args:
            bot: name of the bot.
            ask: number of the ask; None: the first.
            draws: answers for each item, whose mean counts.
        """
        sent = {"bot": bot, "ask": ask, "draws": draws}
        path = self._path("/judges")
        return Judge(self._client, path, self._client.call("POST", path, sent))

    def judges(self) -> list[Judge]:
        """Its machine judges, the newest first."""
        path = self._path("/judges")
        return [Judge(self._client, path, each) for each in self._client.pages(path)]

    # --- life ----------------------------------------------------------------------------------

    def checks(self) -> dict[str, Any]:
        """Check it before it opens, without asking its bots: `can_open`, and `checks` with their cures."""
        found: dict[str, Any] = self._client.get(self._path("/checks"))
        return found

    def rehearse(self, workers: int | None = None, *, timeout: float = HOUR) -> Rehearsal:
        """Let simulated workers try it, and wait for what comes of it.

        Args:
            workers: how many; None: as many as are enough.
            timeout: seconds to wait.

        Raises:
            JobFailedError: it failed.
            TimeoutError: it is not done in time.
        """
        path = self._path("/rehearsal")
        self._client.call("POST", path, {"workers": workers})
        found = self._wait(path, "done", timeout, "The rehearsal")
        return Rehearsal(
            verdict=found["verdict"],
            holds=found["holds"],
            findings=tuple(Finding(each["holds"], each["words"]) for each in found["findings"]),
            study=type(self).get(self._client, found["study"]),
        )

    def open(self) -> Self:
        """Open it to workers; refused while a check prevents it or none of its bots answers."""
        return self._take((self._client.call("POST", self._path("/open")))["study"])

    def close(self) -> Self:
        """Close it; work under way may be finished."""
        return self._take(self._client.call("POST", self._path("/close")))

    def pause(self, *, hold: bool = False) -> Self:
        """Admit no new workers. With `hold`, workers who have started wait, too."""
        self._client.call("POST", self._path("/pause"), {"hold": hold})
        return self.refresh()

    def resume(self) -> Self:
        """Admit workers again."""
        self._client.call("POST", self._path("/resume"))
        return self.refresh()

    def copy(self) -> Self:
        """Copy it as a draft, without its workers and results."""
        return type(self)(self._client, self._client.call("POST", self._path("/copy")))

    def archive(self) -> Self:
        """Leave it out of lists."""
        return self._take(self._client.call("POST", self._path("/archive")))

    def restore(self) -> Self:
        """Show it in lists again, once it was archived."""
        return self._take(self._client.call("POST", self._path("/restore")))

    # --- people --------------------------------------------------------------------------------

    def invite(self, people: Sequence[str]) -> list[dict[str, Any]]:
        """Make a personal link for each of these names or e-mail addresses; returns all links."""
        found: list[dict[str, Any]] = self._client.call(
            "POST", self._path("/invitations"), {"people": [*people]}
        )
        return found

    def exclude(self, worker: str, reason: str) -> None:
        """Exclude a worker from the analysis of included workers; labels and pay stay."""
        self._client.call("PUT", self._path(f"/participants/{worker}/exclusion"), {"reason": reason})

    def include(self, worker: str) -> None:
        """Undo an exclusion."""
        self._client.call("DELETE", self._path(f"/participants/{worker}/exclusion"))

    def end(self, worker: str, outcome: str, *, number: int = 1) -> bool:
        """End the work of a worker: withdrawn, timed_out or screened_out.

        Returns:
            Whether it was open before; an earlier outcome stays.
        """
        sent = {"outcome": outcome, "number": number}
        return bool((self._client.call("POST", self._path(f"/participants/{worker}/end"), sent))["was_open"])

    def panels(self) -> dict[str, Any]:
        """Its panels by key, with links and codes."""
        return dict((self._client.get(self._path("/panels")))["panels"])

    def set_panels(self, **panels: Mapping[str, Any]) -> dict[str, Any]:
        """Replace its panels, such as `prolific={"codes": {"complete": "C1"}}`; what is left out stays."""
        sent = {"panels": {key: dict(settings) for key, settings in panels.items()}}
        return dict((self._client.call("PUT", self._path("/panels"), sent))["panels"])

    def give_bonus(self, workers: Sequence[str], amount: Decimal | str, note: str = "") -> None:
        """Give workers whose work has ended a bonus each: all of them, or none."""
        sent = {"people": [{"worker": each} for each in workers], "amount": str(amount), "note": note}
        self._client.call("POST", self._path("/payments/bonuses"), sent)

    def import_conversations(
        self,
        file: str | Path,
        *,
        systems: Mapping[str, str] | None = None,
        language: str = "",
        timeout: float = HOUR,
        **reading: Any,
    ) -> dict[str, Any]:
        """Import a file of conversations, and wait for it.

        Args:
            file: the file.
            systems: by speaker, the system that they are; empty: a person. None: as the names tell.
            language: one of the study; may be left out where it has one only.
            timeout: seconds to wait.
            reading: `format`, or the `columns` of a table, where the file does not tell.

        Raises:
            ApiError: it cannot be read or imported like this; nothing was imported.
            TimeoutError: it is not done in time.
        """
        source, path = Path(file), self._path("/imports")
        sent = {"name": source.name, "base64": b64encode(source.read_bytes()).decode(), **reading}
        one = f"{path}/{(self._client.call('POST', path, sent))['id']}"
        given = {"systems": None if systems is None else dict(systems), "language": language}
        self._client.call("POST", f"{one}/confirm", given)
        return dict(self._wait(one, "imported", timeout, "The import"))

    # --- results -------------------------------------------------------------------------------

    def participants(self, *, since: str | None = None) -> Records[Participant]:
        """Its participants; with `since`, a time in ISO 8601, those who came or changed from then on."""
        return Records(lambda: self._client.pages(self._path("/participants"), since=since))

    def dialogues(self, *, since: str | None = None) -> Records[Dialogue]:
        """Its conversations; with `since`, those that began or ended from then on."""
        return Records(lambda: self._client.pages(self._path("/dialogues"), since=since))

    def turns(self, *, since: str | None = None) -> Records[Turn]:
        """The turns of its conversations, in the order in which they came."""
        return Records(lambda: self._client.pages(self._path("/turns"), since=since))

    def labels(self, *, since: str | None = None) -> Records[Label]:
        """Its labels, without gold items; with `since`, those given or changed from then on."""
        return Records(lambda: self._client.pages(self._path("/labels"), since=since))

    def table(self, name: str, target: str | Path) -> Path:
        """Write a table of its bundle, such as `labels`, to a file, whose ending chooses the format.

        Raises:
            ValueError: the file ends in none of .jsonl, .csv and .parquet.
        """
        path = Path(target)
        if path.suffix not in _FORMATS:
            raise ValueError(f"{path.name} ends in none of {', '.join(_FORMATS)}.")
        return self._client.download(self._path(f"/tables/{name}"), path, format=_FORMATS[path.suffix])

    def files(self) -> list[dict[str, Any]]:
        """The files that `download` takes: `name`, such as `openai.jsonl`, and what each is `about`."""
        return list(self._client.get(self._path("/files")))

    def download(self, target: str | Path) -> Path:
        """Write the file of this name, such as `openai.jsonl`, as the study's page offers it."""
        path = Path(target)
        return self._client.download(self._path(f"/files/{path.name}"), path)

    def ethics_document(self, target: str | Path) -> Path:
        """Write the document about the study for an ethics board to a PDF file."""
        return self._client.download(self._path("/ethics.pdf"), Path(target))

    def report(self, *, timeout: float = HOUR) -> dict[str, Any]:
        """Have the report computed, and wait for it.

        Returns:
            Every number and sentence, as in report.json of a bundle.

        Raises:
            JobFailedError: it failed.
            TimeoutError: it is not done in time.
        """
        path = self._path("/report")
        self._client.call("POST", path)
        found: dict[str, Any] = self._wait(path, "ready", timeout, "The report")
        return dict(found["result"])

    def bundle(self, target: str | Path, *, timeout: float = HOUR) -> Path:
        """Have the bundle made, wait for it, and write it to a file.

        Raises:
            JobFailedError: it failed.
            TimeoutError: it is not done in time.
        """
        path = self._path("/bundle")
        self._client.call("POST", path)
        self._wait(path, "ready", timeout, "The bundle")
        return self._client.download(f"{path}.zip", Path(target))

    def _take(self, details: Mapping[str, Any]) -> Self:
        self.details = dict(details)
        return self

    def _wait(self, path: str, end: str, timeout: float, what: str) -> Any:
        """Wait until a job of the study has ended well."""
        return self._client.wait(
            lambda: self._client.get(path), lambda found: found["state"] == end, timeout=timeout, what=what
        )
