from typing_extensions import override

from dialogues.consumers import DialogueConsumer
from dialogues.database import in_database
from dialogues.turn_taking import Frame
from dialogues.worker_socket import Handler, field
from labels import queries, services


class LabellingConsumer(DialogueConsumer):
    """A tab of a dialogue whose worker also labels the bot's turns."""

    @override
    def frame_handlers(self) -> dict[str, Handler]:
        return {**super().frame_handlers(), "label": self.label}

    async def label(self, frame: Frame) -> None:
        position = field(frame, "position", int)
        answers, progress = await services.record(
            self.place, position=position, answers=field(frame, "answers", dict)
        )
        await self.say(
            {"type": "label_saved", "position": position, "answers": answers, "progress": progress.as_frame()}
        )
        if self.has_company:  # two tabs may answer at the same moment: each reads which answer stayed
            await self.show_state_everywhere()
        else:
            self.was_unheard = True

    @override
    async def state(self) -> Frame:
        return {**await super().state(), "labels": await in_database(queries.own_labels, self.place)}
