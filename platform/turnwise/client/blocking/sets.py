# Written by scripts/blocking_client.py: change ../asynchronous/sets.py, then run make fmt.
"""Sets that an installation keeps: contexts with runs of responses to them, and anchor packs."""

from pathlib import Path
from typing import Any, Self, cast

from turnwise.client.blocking.connection import Client, Job
from turnwise.client.blocking.records import Records, Titled
from turnwise.client.rows import Context, Response


class Run(Job):
    """One system's responses to the contexts of a set."""

    _what = "The run"
    _continue = "retry"

    @classmethod
    def start(cls, client: Client, context_set: int, bot: str, **options: Any) -> Self:
        """Have a bot respond to every context of a set; `wait` waits for it.

        Args:
            client: connection to the installation.
            context_set: id of the set.
            bot: name of the bot.
            options: `version` of the set (the newest), `repetitions`, `seed`, `stores_reasoning`.
        """
        sent = {"context_set": context_set, "bot": bot, **options}
        return cls(client, "/runs", client.call("POST", "/runs", sent))

    @classmethod
    def load(cls, client: Client, context_set: int, file: str | Path, **options: Any) -> list[Self]:
        """Import a file of responses by other systems, as a run of each system in it.

        Args:
            client: connection to the installation.
            context_set: id of the set.
            file: its ending, .jsonl or .csv, says its format.
            options: `version` of the set, `system` if the file names no models.
        """
        sent = {"context_set": context_set, **_file(Path(file)), **options}
        return [cls(client, "/runs", each) for each in client.call("POST", "/runs/files", sent)]

    @classmethod
    def get(cls, client: Client, run: int) -> Self:
        """Find a run by its id."""
        return cls(client, "/runs", client.get(f"/runs/{run}"))

    @classmethod
    def find(cls, client: Client) -> list[Self]:
        """The runs that you may see, the newest first."""
        return [cls(client, "/runs", each) for each in client.pages("/runs")]

    def responses(self) -> Records[Response]:
        """Its responses, in the order in which they came."""
        return Records(lambda: self._client.pages(f"{self._path}/responses"))


class ContextSet(Titled):
    """A set of contexts. Its versions never change.

    Attributes:
        id: number in its addresses.
        details: all values, with its `versions`, the newest first.
    """

    _list = "/context-sets"

    @classmethod
    def load(
        cls, client: Client, file: str | Path, *, name: str, title: str, licence: str, **options: Any
    ) -> Self:
        """Import a file of contexts as a new set.

        Args:
            client: connection to the installation.
            file: its ending, .jsonl, .csv or .txt, says its format.
            name: short name, which stays.
            title: title on pages.
            licence: licence of the texts.
            options: `description`, and the `language` of contexts for which the file names none.
        """
        sent = {"name": name, "title": title, "licence": licence, **_file(Path(file)), **options}
        return cls(client, client.call("POST", "/context-sets", sent))

    @property
    def version(self) -> int:
        """Number of its newest version."""
        return int(self.details["versions"][0]["number"])

    def add_version(self, file: str | Path, **options: Any) -> Self:
        """Import a file as its next version; studies keep the version that they have."""
        path = f"/context-sets/{self.id}/versions"
        self.details = dict(self._client.call("POST", path, {**_file(Path(file)), **options}))
        return self

    def contexts(self, version: int | None = None) -> Records[Context]:
        """The contexts of a version, the newest if none is named."""
        path = f"/context-sets/{self.id}/versions/{version or self.version}/contexts"
        return Records(lambda: self._client.pages(path))

    def draw(self, number: int | None = None, *, version: int | None = None, **choice: Any) -> Self:
        """Draw some contexts of a version as a set of your own.

        Args:
            number: how many; None: all that fit.
            version: which version; None: the newest.
            choice: `seed`, `title`, `turns`, `category`, `language`, `consistency`, `text`.
        """
        path = f"/context-sets/{self.id}/versions/{version or self.version}/subset"
        return type(self)(self._client, self._client.call("POST", path, {"number": number, **choice}))

    def run(self, bot: str, **options: Any) -> Run:
        """Have a bot respond to every context; see `Run.start`."""
        return Run.start(self._client, self.id, bot, **options)


def _file(path: Path) -> dict[str, str]:
    """Fields of a request that carries a whole file."""
    return {"text": path.read_text(encoding="utf-8"), "origin": path.name, "format": path.suffix.lstrip(".")}


class AnchorPack(Titled):
    """A version of an anchor pack; it never changes.

    Attributes:
        id: number in its addresses.
        details: all values; its anchors are in `items` after `get`.
    """

    _list = "/anchor-packs"

    @classmethod
    def make(
        cls, client: Client, study: str, title: str, *, question_set: str, score: str, **choice: Any
    ) -> Self:
        """Make a pack from the judgments of a closed study.

        Args:
            client: connection to the installation.
            study: code of the study.
            title: name; an existing one makes the next version of that pack.
            question_set: key of the question set.
            score: key of the score over whose range the anchors are spread.
            choice: `number`, `excluded` (systems), `seed`.
        """
        sent = {"title": title, "question_set": question_set, "score": score, **choice}
        return cls(client, client.call("POST", f"/studies/{study}/anchor-packs", sent))

    @classmethod
    def load(cls, client: Client, file: str | Path) -> Self:
        """Import a pack from a file of JSON Lines, as `save` writes it."""
        sent = {"text": Path(file).read_text(encoding="utf-8")}
        return cls(client, client.call("POST", cls._list, sent))

    def save(self, target: str | Path) -> Path:
        """Write it to a file of JSON Lines, which one can import; a file .csv gets a table."""
        name = "anchors.csv" if Path(target).suffix == ".csv" else "anchors.jsonl"
        return self._client.download(f"{self._list}/{self.id}/{name}", Path(target))

    def rename(self, title: str) -> None:
        """Rename all versions of your pack.

        Raises:
            ApiError: another pack of yours has this name.
        """
        sent = {"title": title}
        self.details = dict(self._client.call("PATCH", f"{self._list}/{self.id}", sent))

    def delete(self) -> dict[str, Any]:
        """Delete this version; the answer says until when you can undo it.

        Raises:
            ApiError: opened studies use it; the message names them.
        """
        return cast("dict[str, Any]", self._client.call("DELETE", f"{self._list}/{self.id}"))
