"""SQL of the export columns about a message's picture and about several replies to the same message."""

from turnwise.bots.generation import columns_of
from turnwise.judging.queries import items_of

FOLDER = "pictures"
ERASED = "erased"
"""Value of a picture that was erased."""


def picture_file(turn: str) -> str:
    """SQL of the file of a message's picture; `turn` is SQL of the message's id. NULL without a picture.

    PostgreSQL checks once whether there are any pictures; if not, no row looks for one.
    """
    return f"""
       CASE WHEN (SELECT EXISTS (SELECT FROM dialogues_messagepicture)) THEN
         (SELECT CASE WHEN file.id IS NULL THEN '{ERASED}'
                      ELSE '{FOLDER}/' || file.sha256 ||
                           CASE file.media_type WHEN 'image/png' THEN '.png' ELSE '.jpg' END END
            FROM dialogues_messagepicture AS shown
            LEFT JOIN dialogues_picture AS file ON file.id = shown.picture_id
           WHERE shown.turn_id = {turn}) END"""


def picture_description(turn: str) -> str:
    """SQL of the description of a message's picture. NULL without a picture, or if it was erased."""
    return f"""
       CASE WHEN (SELECT EXISTS (SELECT FROM dialogues_messagepicture)) THEN
         (SELECT nullif(file.description, '')
            FROM dialogues_messagepicture AS shown
            JOIN dialogues_picture AS file ON file.id = shown.picture_id
           WHERE shown.turn_id = {turn}) END"""


def picture_before(dialogue: str, position: str) -> str:
    """SQL of the file of the picture that was sent with the message before a turn."""
    return picture_file(_message_before(dialogue, position))


def description_before(dialogue: str, position: str) -> str:
    """SQL of the description of that picture."""
    return picture_description(_message_before(dialogue, position))


def _message_before(dialogue: str, position: str) -> str:
    return (
        f"(SELECT m.id FROM dialogues_turn AS m WHERE m.dialogue_id = {dialogue}"
        f" AND m.position = {position} - 1)"
    )


# Of a judged turn, raters see only what was said before it and the turn itself.
_JUDGED = f"""
SELECT side.dialogue, max(side.last) AS last
  FROM ({items_of()}) AS i
  JOIN judging_item AS item ON item.id = i.id
  LEFT JOIN labels_pair AS pair ON pair.id = item.pair_id
 CROSS JOIN LATERAL (VALUES (coalesce(i.dialogue_id, item.dialogue_id), coalesce(i.position, 32767)),
                            (pair.first_dialogue_id, 32767),
                            (pair.second_dialogue_id, 32767)) AS side (dialogue, last)
 WHERE side.dialogue IS NOT NULL
 GROUP BY side.dialogue
"""
JUDGED_PICTURES = f"""
  FROM ({_JUDGED}) AS judged
  JOIN dialogues_dialogue AS d ON d.id = judged.dialogue
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id AND t.position <= judged.last
  JOIN dialogues_messagepicture AS sent ON sent.turn_id = t.id
"""
"""SQL of the messages with pictures in the conversations that a study judges."""
ITEM_PICTURE_ROWS = f"""
SELECT d.public_id::text, t.position, {picture_file("t.id")}, {picture_description("t.id")} {JUDGED_PICTURES}
 ORDER BY d.id, t.position
"""
"""Rows of the table `ITEM_PICTURES` of a bundle."""


VERSIONS = "versions.kept, versions.replies"
"""Columns reply_version and reply_versions of a bot's turn, with `versions_join`; NULL for other texts."""

NO_VERSIONS = "NULL::integer, NULL::integer"


def versions_join(turn: str, is_of_bot: str) -> str:
    """SQL join with the number of the kept reply and the number of replies to the same message.

    PostgreSQL checks once whether there are several replies to any message; if not, no row looks for them.

    Args:
        turn: SQL of a turn's id.
        is_of_bot: SQL condition that a bot gave this turn.
    """
    return f"""LEFT JOIN LATERAL (
       SELECT coalesce(max(each.number) FILTER (WHERE each.is_kept), 1)::integer AS kept,
              greatest(1, count(*))::integer AS replies
         FROM dialogues_replyversion AS each
        WHERE (SELECT EXISTS (SELECT FROM dialogues_replyversion)) AND each.turn_id = {turn}
       ) AS versions ON {is_of_bot}"""


EVERY_VERSION = f"""
SELECT d.public_id::text, t.position, each.number, each.is_kept, each.text, each.created_at, b.name,
       v.fingerprint, each.latency_ms, each.seed, each.candidates::text,
       {columns_of("each.generation", "true")}
  FROM dialogues_dialogue AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  JOIN dialogues_replyversion AS each ON each.turn_id = t.id
  JOIN bots_botversion AS v ON v.id = each.bot_version_id
  JOIN bots_bot AS b ON b.id = v.bot_id
 WHERE d.study_id = %s
 ORDER BY d.id, t.position, each.number
"""
"""Rows of the table `REPLY_VERSIONS` of a bundle."""
