"""SQL of the tables that every study's bundle may have. Its parameter is the key of the study."""

from evaluation.report.bundles.anchor_rows import ANCHORS
from evaluation.report.bundles.tables import (
    CONVERSATION_REPLIES,
    CONVERSATIONS,
    DRAWN_ITEMS,
    FAULTS,
    ITEM_MATERIALS,
    ITEM_PICTURES,
    ITEMS,
    MATERIALS,
    PAIRS,
    REPLY_VERSIONS,
    TURNS,
    WORKERS,
)
from turnwise.bots.generation import columns_of
from turnwise.exports.message_columns import (
    EVERY_VERSION,
    ITEM_PICTURE_ROWS,
    VERSIONS,
    picture_description,
    picture_file,
    versions_join,
)
from turnwise.judges.queries import REPORTED_RUNS
from turnwise.judging.judged_replies import CONVERSATION_REPLY_ROWS
from turnwise.judging.queries import items_of
from turnwise.judging.queue.rater_session import READING
from turnwise.reports import descriptions

ANCHOR_ROWS = """
SELECT i.key::text, ask.number, pack.title, pack.number, pack.sha256, pack.origin, pack.made_at,
       (SELECT count(*) FROM judging_anchor AS other WHERE other.pack_id = pack.id), a.number, a.system,
       a.language,
       coalesce(to_json(c.turns),
                (SELECT json_agg(b.text ORDER BY b.position) FROM dialogues_turn AS b
                  WHERE b.dialogue_id = d.id AND (t.id IS NULL OR b.position < t.position)), '[]')::text,
       coalesce(r.text, t.text), a.known::text, pack.common_variance::text
  FROM judging_item AS i
  JOIN judging_anchor AS a ON a.id = i.anchor_id
  JOIN judging_anchorpack AS pack ON pack.id = a.pack_id
  JOIN studies_ask AS ask ON ask.id = i.ask_id
  LEFT JOIN responses_response AS r ON r.id = a.response_id
  LEFT JOIN contexts_context AS c ON c.id = coalesce(r.context_id, a.context_id)
  LEFT JOIN dialogues_turn AS t ON t.id = a.turn_id
  LEFT JOIN dialogues_dialogue AS d ON d.id = coalesce(t.dialogue_id, a.dialogue_id)
 WHERE i.study_id = %s
 ORDER BY ask.number, a.number
"""
ANCHOR_JUDGMENT_ROWS = """
SELECT i.key::text, crowd_pseudonym(l.rater_id, l.study_id), ask.number, l.question_set, l.changed_at,
       l.changes, l.shown_ms, l.answer_ms, l.answers::text
  FROM judging_slot AS s
  JOIN judging_item AS i ON i.id = s.item_id
  JOIN labels_label AS l ON l.id = s.label_id
  JOIN studies_ask AS ask ON ask.id = l.ask_id
 WHERE s.study_id = %s AND i.anchor_id IS NOT NULL
 ORDER BY l.id
"""


STATEMENTS: dict[str, str] = {
    CONVERSATIONS.name: """
SELECT row_number() OVER (ORDER BY d.id), d.public_id::text,
       (SELECT string_agg(DISTINCT b.name, ' ') FROM dialogues_seat AS seat
          JOIN bots_bot AS b ON b.id = seat.bot_id WHERE seat.dialogue_id = d.id),
       (SELECT string_agg(crowd_pseudonym(seat.worker_id, d.study_id), ' ' ORDER BY seat.number)
          FROM dialogues_seat AS seat
         WHERE seat.dialogue_id = d.id AND seat.worker_id IS NOT NULL),
       d.started_at, d.ended_at, nullif(d.ending, ''), d.opening_turns, d.min_turns, d.max_turns,
       d.turns, d.scenario->>'name'
  FROM dialogues_dialogue AS d
 WHERE d.study_id = %s
 ORDER BY d.id
""",
    TURNS.name: f"""
SELECT d.public_id::text, t.position, CASE WHEN seat.bot_id IS NULL THEN 'worker' ELSE 'bot' END,
       t.text, t.created_at, b.name, v.fingerprint, t.latency_ms, t.seed, t.candidates::text,
       {columns_of("t.generation", "t.bot_version_id IS NOT NULL")},
       crowd_pseudonym(seat.worker_id, d.study_id), typing.pasted, typing.typing_ms,
       {VERSIONS}, {picture_file("t.id")}, {picture_description("t.id")}
  FROM dialogues_dialogue AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  LEFT JOIN dialogues_typing AS typing ON typing.turn_id = t.id
  LEFT JOIN dialogues_seat AS seat ON seat.dialogue_id = d.id AND seat.number = t.position %% 2
  LEFT JOIN bots_botversion AS v ON v.id = t.bot_version_id
  LEFT JOIN bots_bot AS b ON b.id = v.bot_id
  {versions_join("t.id", "t.bot_version_id IS NOT NULL")}
 WHERE d.study_id = %s
 ORDER BY d.id, t.position
""",
    REPLY_VERSIONS.name: EVERY_VERSION,
    # A union, because one condition on turns and conversations would read the labels of every study.
    "labels": """
WITH held AS (SELECT id, public_id FROM dialogues_dialogue WHERE study_id = %s)
SELECT l.public_id::text, l.position, crowd_pseudonym(l.rater_id, l.study_id),
       CASE WHEN l.party <> 'reader' THEN ask.number END, l.question_set,
       l.changed_at, l.changes, l.shown_ms, l.answer_ms,
       CASE l.party WHEN 'reader' THEN given.code END, l.answers::text
  FROM (SELECT held.public_id, held.id AS conversation, t.position, own.*
          FROM held
          JOIN dialogues_turn AS t ON t.dialogue_id = held.id
          JOIN labels_label AS own ON own.turn_id = t.id
         UNION ALL
        SELECT held.public_id, held.id, NULL, whole.*
          FROM held JOIN labels_label AS whole ON whole.dialogue_id = held.id) AS l
  JOIN studies_study AS given ON given.id = l.study_id
  LEFT JOIN studies_ask AS ask ON ask.id = l.ask_id
  LEFT JOIN judging_slot AS slot ON slot.label_id = l.id
 WHERE (l.party <> 'reader' OR given.rehearsal_of_id IS NULL) AND slot.is_gold IS NOT TRUE
 ORDER BY l.conversation, l.position, l.id
""",
    # Contexts are numbered in the order of the report's resampling.
    ITEMS.name: f"""
SELECT i.key::text, ask.number, i.system, dense_rank() OVER (ORDER BY i.cluster),
       coalesce(c.key, d.public_id::text), i.position, i.repetition, item.language, nullif(c.category, ''),
       cardinality(c.turns), c.consistency,
       coalesce(to_json(c.turns),
                (SELECT json_agg(b.text ORDER BY b.position) FROM dialogues_turn AS b
                  WHERE b.dialogue_id = d.id AND (t.id IS NULL OR b.position < t.position)), '[]')::text,
       i.text, v.fingerprint, i.latency_ms, coalesce(r.seed, t.seed), b.name, i.given_at,
       {columns_of("i.generation", "i.bot_version_id IS NOT NULL")}
  FROM ({items_of()}) AS i
  JOIN judging_item AS item ON item.id = i.id
  JOIN studies_ask AS ask ON ask.id = i.ask_id
  LEFT JOIN responses_response AS r ON r.id = item.response_id
  LEFT JOIN contexts_context AS c ON c.id = coalesce(r.context_id, item.context_id)
  LEFT JOIN dialogues_turn AS t ON t.id = item.turn_id
  LEFT JOIN dialogues_dialogue AS d ON d.id = coalesce(t.dialogue_id, item.dialogue_id)
  LEFT JOIN bots_botversion AS v ON v.id = i.bot_version_id
  LEFT JOIN bots_bot AS b ON b.id = v.bot_id
 ORDER BY i.id
""",
    "judgments": """
SELECT i.key::text, s.position, l.occasion, s.asks_reason, crowd_pseudonym(l.rater_id, l.study_id),
       ask.number, l.question_set, l.changed_at, l.changes, l.shown_ms, l.answer_ms, l.answers::text
  FROM judging_slot AS s
  JOIN judging_item AS i ON i.id = s.item_id
  JOIN labels_label AS l ON l.id = s.label_id
  JOIN studies_ask AS ask ON ask.id = l.ask_id
 WHERE s.study_id = %s AND NOT s.is_gold AND i.anchor_id IS NULL
 ORDER BY l.id
""",
    PAIRS.name: f"""
SELECT i.key::text, ask.number, i.first_system, i.second_system, dense_rank() OVER (ORDER BY i.cluster),
       coalesce(c.key, d.public_id::text), item.language, coalesce(to_json(c.turns), '[]')::text,
       CASE WHEN r.id IS NULL THEN judging_said_in(pair.first_dialogue_id, pair.turns)
            ELSE jsonb_build_array(r.text) END::text,
       CASE WHEN s.id IS NULL THEN judging_said_in(pair.second_dialogue_id, pair.turns)
            ELSE jsonb_build_array(s.text) END::text,
       v.fingerprint, w.fingerprint,
       r.id, b.name, r.created_at, r.latency_ms, {columns_of("r.generation", "r.bot_version_id IS NOT NULL")},
       s.id, o.name, s.created_at, s.latency_ms, {columns_of("s.generation", "s.bot_version_id IS NOT NULL")},
       d.public_id::text, e.public_id::text,
       judging_speaker(pair.first_dialogue_id), judging_speaker(pair.second_dialogue_id), pair.turns
  FROM ({items_of()}) AS i
  JOIN judging_item AS item ON item.id = i.id
  JOIN studies_ask AS ask ON ask.id = i.ask_id
  JOIN labels_pair AS pair ON pair.id = item.pair_id
  LEFT JOIN responses_response AS r ON r.id = pair.first_response_id
  LEFT JOIN responses_response AS s ON s.id = pair.second_response_id
  LEFT JOIN contexts_context AS c ON c.id = r.context_id
  LEFT JOIN dialogues_dialogue AS d ON d.id = pair.first_dialogue_id
  LEFT JOIN dialogues_dialogue AS e ON e.id = pair.second_dialogue_id
  LEFT JOIN bots_botversion AS v ON v.id = r.bot_version_id
  LEFT JOIN bots_botversion AS w ON w.id = s.bot_version_id
  LEFT JOIN bots_bot AS b ON b.id = v.bot_id
  LEFT JOIN bots_bot AS o ON o.id = w.bot_id
 ORDER BY i.id
""",
    "pair_judgments": """
SELECT s.key::text, s.is_swapped, crowd_pseudonym(l.rater_id, l.study_id), ask.number, l.question_set,
       l.changed_at, l.changes, l.shown_ms, l.answer_ms, l.answers::text
  FROM judging_slot AS s
  JOIN labels_label AS l ON l.id = s.label_id
  JOIN studies_ask AS ask ON ask.id = l.ask_id
 WHERE s.study_id = %s AND NOT s.is_gold
 ORDER BY l.id
""",
    ANCHORS.name: ANCHOR_ROWS,
    "anchor_judgments": ANCHOR_JUDGMENT_ROWS,
    CONVERSATION_REPLIES.name: CONVERSATION_REPLY_ROWS,
    ITEM_PICTURES.name: ITEM_PICTURE_ROWS,
    "questionnaires": descriptions.STATEMENT,
    "machine_labels": f"""
WITH given AS (SELECT %s::bigint AS study)
SELECT dense_rank() OVER (ORDER BY r.id), coalesce(b.name, j.title), j.fingerprint, v.fingerprint,
       i.key::text, l.is_swapped, l.draw, l.outcome, l.at, ask.number, j.question_set, l.has_seen,
       l.probabilities::text, coalesce(l.answers, '{{}}')::text
  FROM judges_machinelabel AS l
  JOIN judges_judgerun AS r ON r.id = l.run_id
  JOIN judges_judge AS j ON j.id = r.judge_id
  LEFT JOIN bots_bot AS b ON b.id = j.bot_id
  JOIN studies_ask AS ask ON ask.id = r.ask_id
  JOIN ({items_of("(SELECT study FROM given)")}) AS i ON i.id = l.item_id
  LEFT JOIN bots_botversion AS v ON v.id = r.bot_version_id
 WHERE r.id IN ({REPORTED_RUNS.format(study="(SELECT study FROM given)")})
 ORDER BY r.id, l.item_id, l.is_swapped, l.draw
""",
    DRAWN_ITEMS.name: f"""
SELECT i.key::text, ask.number, d.number, d.made_at, d.judge, d.judge_fingerprint, d.source,
       nullif(w.stratum, ''), w.uncertainty, w.probability, w.is_drawn, w.begun_before, d.floor, d.seed
  FROM judging_drawnitem AS w
  JOIN judging_itemdraw AS d ON d.id = w.draw_id
  JOIN studies_ask AS ask ON ask.id = d.ask_id
  JOIN ({items_of()}) AS i ON i.id = w.item_id
 ORDER BY ask.number, d.number, w.item_id
""",
    "adjudications": """
SELECT i.key::text, d.number,
       d.answers IS NOT NULL AND d.number = max(d.number) OVER (PARTITION BY i.id),
       CASE WHEN d.answers IS NOT NULL
            THEN (SELECT coalesce(json_agg(asked.key ORDER BY asked.key), '[]')
                    FROM jsonb_object_keys(d.answers) AS asked (key))::text END,
       CASE WHEN d.invitation_id IS NULL THEN 'researcher'
            ELSE 'adjudicator ' || (SELECT count(*) FROM crowd_invitation AS n
                                     WHERE n.study_id = i.study_id AND n.is_adjudicator
                                       AND n.id <= d.invitation_id) END,
       d.at, nullif(d.reason, ''), ask.number, ask.question_set, coalesce(d.answers, '{}')::text
  FROM experts_adjudication AS d
  JOIN judging_item AS i ON i.id = d.item_id
  JOIN studies_ask AS ask ON ask.id = i.ask_id
 WHERE i.study_id = %s
 ORDER BY i.id, d.number
""",
    MATERIALS.name: """
SELECT d.public_id::text, s.number, m.number, m.key, m.title, nullif(m.heading, ''), nullif(m.text, ''),
       to_json(m.points)::text, nullif(m.variant, '')
  FROM dialogues_dialogue AS d
  JOIN dialogues_seat AS s ON s.dialogue_id = d.id
  JOIN dialogues_material AS m ON m.seat_id = s.id
 WHERE d.study_id = %s
 ORDER BY d.id, s.number, m.number
""",
    ITEM_MATERIALS.name: f"""
SELECT read.key, read.dialogue, read.seat, read.number, read.name, read.title, read.heading, read.text,
       to_json(read.points)::text, read.variant
  FROM ({READING}) AS read
  JOIN judging_judgingplan AS plan ON plan.study_id = read.study_id AND plan.shows_reading
 WHERE read.study_id = %s
 ORDER BY read.item, read.side, read.seat, read.number
""",
    FAULTS.name: """
SELECT d.public_id::text, f.position, f.kind, f.at
  FROM dialogues_fault AS f
  JOIN dialogues_dialogue AS d ON d.id = f.dialogue_id
 WHERE d.study_id = %s
 ORDER BY d.id, f.at, f.id
""",
    WORKERS.name: """
SELECT p.pseudonym, c.number, p.consented_at, nullif(a.outcome, ''), p.excluded_at,
       nullif(p.excluded_reason, ''), p.pilot,
       CASE WHEN p.address <> '' THEN dense_rank() OVER (ORDER BY nullif(p.address, '')) END, taken.at,
       p.condition::text
  FROM crowd_participation AS p
  JOIN studies_consentversion AS c ON c.id = p.consent_id
  LEFT JOIN crowd_assignment AS a ON a.participation_id = (
       SELECT newest.id FROM crowd_participation AS newest
        WHERE newest.worker_id = p.worker_id AND newest.study_id = p.study_id
        ORDER BY newest.number DESC LIMIT 1)
  LEFT JOIN crowd_withdrawal AS taken ON taken.participation_id = p.id
 WHERE p.study_id = %s AND p.number = 1
 ORDER BY p.consented_at, p.id
""",
}
