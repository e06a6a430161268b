"""SQL of the export columns about pictures of messages."""

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


def picture_before(dialogue: str, position: str) -> str:
    """SQL of the file of the picture that was sent with the message before a turn."""
    return picture_file(
        f"(SELECT m.id FROM dialogues_turn AS m WHERE m.dialogue_id = {dialogue}"
        f" AND m.position = {position} - 1)"
    )
