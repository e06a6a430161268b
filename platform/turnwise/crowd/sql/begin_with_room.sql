-- The first word in a conversation with a bot takes its place for good, where all who were ever given a place with the bot
-- could do so, as in most of a study: their highest number says that without counting who has. NULL, and nothing done, if
-- it takes a closer look (begin.sql): there may be too few places, the study is in its pilot, they have begun already, or
-- the assignment is gone.
CREATE OR REPLACE FUNCTION crowd_begin_with_room(the_participation bigint, the_assignment bigint, the_now timestamptz)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    b record;
BEGIN
    -- Nobody gives or counts places with the bot before this is committed, since they lock its row for themselves; those
    -- who begin so do not wait for each other.
    SELECT bot.id, bot.target INTO b
      FROM crowd_participation AS p
      JOIN crowd_assignment AS own ON own.participation_id = p.id
      JOIN studies_studybot AS bot ON bot.id = own.study_bot_id
      JOIN studies_study AS study ON study.id = own.study_id
     WHERE p.id = the_participation AND own.id = the_assignment
       AND NOT (p.pilot AND study.pilot_size > 0 AND study.pilot_over_at IS NULL)
       FOR NO KEY UPDATE OF p FOR KEY SHARE OF bot;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    UPDATE crowd_assignment SET active_at = the_now
     WHERE id = the_assignment AND study_bot_id = b.id AND outcome = '' AND active_at = assigned_at
       AND b.target >= (SELECT number FROM crowd_assignment WHERE study_bot_id = b.id ORDER BY number DESC LIMIT 1);
    RETURN CASE WHEN FOUND THEN true END;
END $$;
