-- Who has taken a place in a study for good: those who are done and those at work. Once its pilot is over, those of the
-- pilot do not count. Each kind by itself, so that those who are done are counted in an index alone.
CREATE OR REPLACE FUNCTION crowd_begun(the_study bigint, the_since timestamptz)
RETURNS TABLE (participation_id bigint, study_bot_id bigint) LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT o.participation_id, o.study_bot_id
      FROM (SELECT done.participation_id, done.study_bot_id FROM crowd_assignment AS done
             WHERE done.study_id = the_study AND done.outcome = 'complete'
             UNION ALL
            SELECT own.participation_id, own.study_bot_id FROM crowd_assignment AS own
             WHERE own.study_id = the_study
               AND crowd_is_at_work(own.outcome, own.assigned_at, own.active_at, the_since)) AS o
     WHERE (SELECT pilot_over_at IS NULL FROM studies_study WHERE id = the_study)
        OR NOT EXISTS (SELECT FROM crowd_participation AS p WHERE p.id = o.participation_id AND p.pilot)
$$;
