"""Rows of anchors and of their judgments, in a bundle and for the report."""

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
