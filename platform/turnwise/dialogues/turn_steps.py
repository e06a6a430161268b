"""The steps that save turns: database functions in `sql/`, run in batches (live/sockets/batches.py)."""

from turnwise.live.sockets.batches import BatchedStep

_DUE = {"due_0": "integer[]", "due_1": "integer[]"}
# Stored with a reply's text: the last parameters of both steps that save a reply.
_REPLY = {
    "version": "bigint",
    "latency": "integer",
    "seed": "bigint",
    "candidates": "jsonb",
    "generation": "jsonb",
}
SAY = BatchedStep(
    "dialogues_say",
    {"dialogue": "bigint", "seat": "integer", "room": "integer", "text": "text", "key": "uuid", **_DUE},
)
SAY_WITH_PICTURE = BatchedStep(
    "dialogues_say_with_picture",
    {
        "dialogue": "bigint", "seat": "integer", "room": "integer", "text": "text", "key": "uuid", **_DUE,
        "picture": "text",
    },
)  # fmt: skip
REPLY = BatchedStep(
    "dialogues_reply", {"dialogue": "bigint", "position": "integer", "text": "text", **_DUE, **_REPLY}
)
SAY_AND_REPLY = BatchedStep(
    "dialogues_say_and_reply",
    {
        "dialogue": "bigint", "position": "integer", "text": "text", "key": "uuid", "reply": "text",
        **_DUE, **_REPLY,
    },
)  # fmt: skip
