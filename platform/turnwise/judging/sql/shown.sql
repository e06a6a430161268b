-- An item in the format of the judging page, with the number of its ask, the first byte of its key. The sides of a pair
-- come in the order of the rater's slot, each with its texts and, for conversations, the judged seat.
CREATE OR REPLACE FUNCTION judging_shown(i judging_item, is_swapped boolean) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    before jsonb;
    judged text;
    sides jsonb;
    of_ask integer := get_byte(uuid_send(i.key), 0);
BEGIN
    IF i.response_id IS NOT NULL THEN
        SELECT to_jsonb(c.turns), r.text INTO before, judged
          FROM responses_response AS r JOIN contexts_context AS c ON c.id = r.context_id
         WHERE r.id = i.response_id;
    ELSIF i.turn_id IS NOT NULL THEN
        SELECT coalesce((SELECT jsonb_agg(e.text ORDER BY e.position) FROM dialogues_turn AS e
                          WHERE e.dialogue_id = t.dialogue_id AND e.position < t.position), '[]'), t.text
          INTO before, judged
          FROM dialogues_turn AS t WHERE t.id = i.turn_id;
    ELSIF i.pair_id IS NOT NULL THEN
        SELECT coalesce(to_jsonb(c.turns), '[]'),
               CASE WHEN c.id IS NOT NULL
                    THEN jsonb_build_array(jsonb_build_object('texts', jsonb_build_array(one.text)),
                                           jsonb_build_object('texts', jsonb_build_array(other.text)))
                    ELSE jsonb_build_array(
                        jsonb_build_object('texts', judging_said_in(p.first_dialogue_id, p.turns),
                                           'speaker', judging_speaker(p.first_dialogue_id)),
                        jsonb_build_object('texts', judging_said_in(p.second_dialogue_id, p.turns),
                                           'speaker', judging_speaker(p.second_dialogue_id))) END
          INTO before, sides
          FROM labels_pair AS p
          LEFT JOIN responses_response AS one ON one.id = p.first_response_id
          LEFT JOIN responses_response AS other ON other.id = p.second_response_id
          LEFT JOIN contexts_context AS c ON c.id = one.context_id
         WHERE p.id = i.pair_id;
        IF is_swapped THEN
            sides := jsonb_build_array(sides->1, sides->0);
        END IF;
        RETURN jsonb_build_object('key', i.key, 'ask', of_ask, 'context', before, 'sides', sides,
                                  'language', i.language);
    ELSIF i.context_id IS NOT NULL THEN
        SELECT to_jsonb(c.turns) INTO before FROM contexts_context AS c WHERE c.id = i.context_id;
    ELSE
        before := judging_said_in(i.dialogue_id);
    END IF;
    RETURN jsonb_build_object('key', i.key, 'ask', of_ask, 'context', before, 'text', judged, 'language', i.language);
END $$;
