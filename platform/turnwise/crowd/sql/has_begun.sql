-- Whether anything would be lost with this participation. Of a conversation between two people that is also what the other
-- one said, who would lose it with them.
CREATE OR REPLACE FUNCTION crowd_has_begun(the_participation bigint) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM crowd_assignment
                    WHERE participation_id = the_participation AND (outcome <> '' OR active_at <> assigned_at))
        OR EXISTS (SELECT FROM crowd_assignment AS a
                     JOIN dialogues_seat AS s ON s.assignment_id = a.id
                     JOIN dialogues_dialogue AS d ON d.id = s.dialogue_id
                     JOIN dialogues_turn AS t ON t.dialogue_id = d.id
                    WHERE a.participation_id = the_participation
                      AND t.bot_version_id IS NULL AND t.position >= d.opening_turns);
END $$;
