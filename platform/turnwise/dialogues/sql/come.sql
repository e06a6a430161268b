-- Record that a tab of this seat's person is open; return the state of the conversation and of the partner.
CREATE OR REPLACE FUNCTION dialogues_come(
    the_dialogue bigint, the_seat integer,
    OUT turns integer, OUT due_0 integer[], OUT due_1 integer[], OUT ended boolean, OUT closing boolean,
    OUT outcome text, OUT seconds_away double precision, OUT seconds_silent double precision
) LANGUAGE plpgsql AS $$
DECLARE
    now timestamptz := clock_timestamp();
BEGIN
    UPDATE dialogues_seat AS s SET seen_at = now WHERE s.dialogue_id = the_dialogue AND s.number = the_seat;
    SELECT d.turns, d.due_0, d.due_1, d.ended_at IS NOT NULL, d.closing, coalesce(a.outcome, ''),
           extract(epoch FROM now - coalesce(p.seen_at, d.started_at)),
           extract(epoch FROM now - coalesce(
               (SELECT t.created_at FROM dialogues_turn AS t
                 WHERE t.dialogue_id = d.id ORDER BY t.position DESC LIMIT 1), d.started_at))
      INTO turns, due_0, due_1, ended, closing, outcome, seconds_away, seconds_silent
      FROM dialogues_dialogue AS d
      JOIN dialogues_seat AS p ON p.dialogue_id = d.id AND p.number = 1 - the_seat
      LEFT JOIN crowd_assignment AS a ON a.id = p.assignment_id
     WHERE d.id = the_dialogue;
END $$;
