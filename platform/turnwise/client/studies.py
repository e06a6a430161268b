"""A study of an installation: made, changed, rehearsed, opened and read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from turnwise.client.connection import Client
from turnwise.client.errors import JobFailedError
from turnwise.client.records import Dialogue, Label, Participant, Records, Turn

HOUR = 3600.0
_FORMATS = {".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}


@dataclass(frozen=True, slots=True)
class Finding:
    """An injected effect of a rehearsal, compared with the report.

    Attributes:
        holds: whether the report shows it; None: that cannot be told.
        words: the comparison in a sentence.
    """

    holds: bool | None
    words: str


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


class Study:
    """A study. Its values are those of the newest answer: `refresh` reads them again.

    Attributes:
        code: code in its addresses.
        details: all values, as `GET /api/studies/CODE` describes them.
    """

    def __init__(self, client: Client, details: Mapping[str, Any]) -> None:
        self._client = client
        self.code: str = details["code"]
        self.details = dict(details)

    def __repr__(self) -> str:
        return f"<Study {self.code} “{self.title}”, {self.state}>"

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
        found = self._wait(path, ("done", "failed"), timeout, "The rehearsal")
        return Rehearsal(
            verdict=found["verdict"],
            holds=found["holds"],
            findings=tuple(Finding(each["holds"], each["words"]) for each in found["findings"]),
            study=type(self).get(self._client, found["study"]),
        )

    def open(self) -> Self:
        """Open it to workers; refused while a check prevents it or none of its bots answers."""
        return self._take(self._client.call("POST", self._path("/open"))["study"])

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
        found: dict[str, Any] = self._wait(path, ("ready", "failed"), timeout, "The report")["result"]
        return found

    def bundle(self, target: str | Path, *, timeout: float = HOUR) -> Path:
        """Have the bundle made, wait for it, and write it to a file.

        Raises:
            JobFailedError: it failed.
            TimeoutError: it is not done in time.
        """
        path = self._path("/bundle")
        self._client.call("POST", path)
        self._wait(path, ("ready", "failed"), timeout, "The bundle")
        return self._client.download(f"{path}.zip", Path(target))

    def _path(self, rest: str = "") -> str:
        return f"/studies/{self.code}{rest}"

    def _take(self, details: Mapping[str, Any]) -> Self:
        self.details = dict(details)
        return self

    def _wait(self, path: str, ends: Sequence[str], timeout: float, what: str) -> Any:
        """Wait until a job of the study is in one of these states.

        Raises:
            JobFailedError: it failed.
        """
        found = self._client.wait(
            lambda: self._client.get(path), lambda state: state["state"] in ends, timeout=timeout, what=what
        )
        if found["state"] == "failed":
            raise JobFailedError(f"{what} failed. {found.get('reason') or found.get('notice') or ''}".strip())
        return found
