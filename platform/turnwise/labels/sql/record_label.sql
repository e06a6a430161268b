-- Save the label of a chatter or partner: about a turn, or about the whole conversation if the position is NULL.
-- Where replies have versions, `the_reply` is the number of the one that was judged: no row if another one is kept.
CREATE OR REPLACE FUNCTION labels_record_label(
    the_dialogue bigint, the_seat integer, the_position integer, the_number integer, is_own boolean,
    the_rater bigint, the_party text, the_ask bigint, the_set text, the_answers jsonb, the_shown_ms integer,
    the_answer_ms integer, the_reply integer,
    OUT turns integer, OUT due_0 integer[], OUT due_1 integer[], OUT closing boolean
) LANGUAGE plpgsql AS $$
DECLARE
    code integer := coalesce(the_position, 1000) * 32 + the_number;
    the_study bigint;
    the_turn bigint;
BEGIN
    IF the_reply IS NOT NULL THEN
        PERFORM FROM dialogues_dialogue WHERE id = the_dialogue FOR NO KEY UPDATE;
        IF the_reply <> coalesce(
            (SELECT v.number FROM dialogues_turn AS t JOIN dialogues_replyversion AS v ON v.turn_id = t.id AND v.is_kept
              WHERE t.dialogue_id = the_dialogue AND t.position = the_position), 1) THEN
            RETURN;
        END IF;
    END IF;
    UPDATE dialogues_dialogue AS d
       SET due_0 = CASE the_seat WHEN 0 THEN array_remove(array_remove(d.due_0, code), -code - 1) ELSE d.due_0 END,
           due_1 = CASE the_seat WHEN 1 THEN array_remove(array_remove(d.due_1, code), -code - 1) ELSE d.due_1 END
     WHERE d.id = the_dialogue
       AND d.ended_at IS NULL
       AND (the_position IS NULL
            OR the_position >= d.opening_turns AND the_position < d.turns
               AND (the_position % 2 = the_seat) = is_own)
 RETURNING d.turns, d.due_0, d.due_1, d.closing, d.study_id INTO turns, due_0, due_1, closing, the_study;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- A conversation with a person stays without one of the two who withdraws, which locks its row, too.
    IF EXISTS (SELECT FROM dialogues_seat AS s
                 JOIN crowd_assignment AS a ON a.id = s.assignment_id
                 JOIN crowd_withdrawal AS w ON w.participation_id = a.participation_id
                WHERE s.dialogue_id = the_dialogue AND s.number = the_seat) THEN
        turns := NULL;
        RETURN;
    END IF;
    IF the_position IS NULL THEN
        INSERT INTO labels_label AS l (study_id, dialogue_id, rater_id, party, occasion, ask_id, question_set,
                                       answers, shown_ms, answer_ms, created_at, changed_at, changes)
        VALUES (the_study, the_dialogue, the_rater, the_party, 1, the_ask, the_set, the_answers,
                the_shown_ms, the_answer_ms, clock_timestamp(), clock_timestamp(), 0)
        ON CONFLICT (dialogue_id, rater_id, ask_id, question_set, occasion) WHERE dialogue_id IS NOT NULL DO UPDATE
           SET answers = EXCLUDED.answers, changed_at = EXCLUDED.changed_at, changes = l.changes + 1,
               shown_ms = EXCLUDED.shown_ms, answer_ms = EXCLUDED.answer_ms
         WHERE l.answers <> EXCLUDED.answers;
        RETURN;
    END IF;
    SELECT t.id INTO the_turn FROM dialogues_turn AS t
     WHERE t.dialogue_id = the_dialogue AND t.position = the_position;
    INSERT INTO labels_label AS l (study_id, turn_id, rater_id, party, occasion, ask_id, question_set, answers,
                                   shown_ms, answer_ms, created_at, changed_at, changes)
    VALUES (the_study, the_turn, the_rater, the_party, 1, the_ask, the_set, the_answers,
            the_shown_ms, the_answer_ms, clock_timestamp(), clock_timestamp(), 0)
    ON CONFLICT (turn_id, rater_id, ask_id, question_set, occasion) WHERE turn_id IS NOT NULL DO UPDATE
       SET answers = EXCLUDED.answers, changed_at = EXCLUDED.changed_at, changes = l.changes + 1,
           shown_ms = EXCLUDED.shown_ms, answer_ms = EXCLUDED.answer_ms
     WHERE l.answers <> EXCLUDED.answers;
END $$;
