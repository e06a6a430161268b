"""Writing as who makes the study tries it: the first contexts, and nothing is stored."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from typing_extensions import override

from turnwise.contexts.models import Context
from turnwise.crowd.previewed import EXAMPLE_CODE, Answers, ItemsPreviewed
from turnwise.live.frames import Frame, field
from turnwise.live.refusals import RefusedError
from turnwise.responses.bounds import MAX_RESPONSE
from turnwise.responses.checks import problem_of
from turnwise.tasks.writing.models import WritingPlan
from turnwise.tasks.writing.services import REFUSALS, shown

MOST_SHOWN = 3


class WritingPreviewed(ItemsPreviewed):
    """Somebody answers a few contexts."""

    undone = "unwritten", REFUSALS["unwritten"]

    @override
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        plan = WritingPlan.objects.filter(study=self.study).first()
        there = Context.objects.filter(version=plan.context_version_id) if plan else Context.objects.none()
        spoken = there.filter(language=self.language)
        rows = list(spoken.order_by("pk")[:MOST_SHOWN]) or list(there.order_by("pk")[:MOST_SHOWN])
        self.items = [shown(row) for row in rows]

    @override
    def shown(self) -> tuple[str, dict[str, Any]]:
        settings = {"socket": self.socket, "name": self.name, "max_chars": MAX_RESPONSE}
        return "tasks/writing/write.html", {"resume_code": EXAMPLE_CODE, "settings": settings}

    def _left(self) -> list[dict[str, Any]]:
        """The context that is next, as workers hold one at a time."""
        return [item for item in self.items if item["key"] not in self.done][:1]

    @override
    def told(self) -> Frame:
        done = [item | {"text": self.done[item["key"]]} for item in self.items if item["key"] in self.done]
        return {"items": self._left(), "written": done}

    @override
    def answers(self) -> Mapping[str, Answers]:
        return {"write": self.write, "finish": self.finish}

    async def write(self, frame: Frame) -> AsyncIterator[Frame]:
        key, text = field(frame, "item", str), field(frame, "text", str)
        item = next((each for each in self.items if each["key"] == key), None)
        if item is None:
            raise RefusedError("given_away", REFUSALS["given_away"])
        others = [said for of, said in self.done.items() if of != key]
        if problem := problem_of(text, item["turns"], others):
            raise RefusedError("unfit", problem)
        self.done[key] = text
        yield {"type": "written", "item": key, "text": text, "items": self._left(), "progress": self.progress}
