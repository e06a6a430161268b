-- Make the place of a conversation with a bot permanent at its first word; true if that worked. False if enough
-- conversations have begun, if the assignment is gone, or if it is not with a bot. Places that others only hold do
-- not count. One round trip, since every conversation has a first word (docs/decisions/places-by-the-first-word.md).
-- Workers who were silent since the given time have gone back to the pool.
CREATE OR REPLACE FUNCTION crowd_begin(the_assignment bigint, the_now timestamptz, the_since timestamptz) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    a record;
    s record;
    wanted integer;
BEGIN
    -- Participation, study, bot: every step that assigns, ends or leaves a pilot locks in this order.
    SELECT own.id, own.study_id, own.study_bot_id, p.id AS participation_id, p.pilot INTO a
      FROM crowd_assignment AS own JOIN crowd_participation AS p ON p.id = own.participation_id
     WHERE own.id = the_assignment AND own.study_bot_id IS NOT NULL
       FOR UPDATE OF p;
    IF NOT FOUND OR NOT EXISTS (SELECT FROM crowd_assignment WHERE id = the_assignment) THEN
        RETURN false;
    END IF;
    IF NOT crowd_has_begun(a.participation_id) THEN
        SELECT study.pilot_size,
               study.pilot_size > 0 AND study.pilot_over_at IS NULL AND study.rehearsal_of_id IS NULL AS is_on
          INTO s FROM studies_study AS study WHERE study.id = a.study_id;
        IF a.pilot AND s.is_on THEN
            PERFORM FROM studies_study WHERE id = a.study_id FOR NO KEY UPDATE;
            SELECT pilot_over_at IS NULL INTO s.is_on FROM studies_study WHERE id = a.study_id;
        END IF;
        -- Those who begin at the same moment do so one after the other, as those who press Start.
        SELECT target INTO wanted FROM studies_studybot WHERE id = a.study_bot_id FOR UPDATE;
        IF wanted <= (SELECT count(*) FROM crowd_begun(a.study_id, the_since) AS o
                       WHERE o.study_bot_id = a.study_bot_id) THEN
            RETURN false;
        ELSIF a.pilot AND s.is_on AND s.pilot_size <= (
            SELECT count(*) FROM crowd_begun(a.study_id, the_since) AS o
              JOIN crowd_participation AS p ON p.id = o.participation_id
             WHERE p.study_id = a.study_id AND p.pilot AND p.id <> a.participation_id) THEN
            RETURN false;
        END IF;
    END IF;
    UPDATE crowd_assignment SET active_at = the_now WHERE id = a.id AND active_at = assigned_at;
    RETURN true;
END $$;
