-- Whether a batch in which nothing was judged yet came after three others of its network address that hold items, too:
-- what it holds is for others once nothing else is left, as places with a bot are (crowd/places/reservation.py). Else one person
-- without cookies could hold all that is left of a study. The simulated workers of a rehearsal all come from one address.
CREATE OR REPLACE FUNCTION judging_crowding(the_batch bigint, the_at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    own record;
BEGIN
    SELECT b.id, b.study_id, p.address INTO own
      FROM judging_batch AS b
      JOIN crowd_assignment AS a ON a.id = b.assignment_id
      JOIN crowd_participation AS p ON p.id = a.participation_id
      JOIN studies_study AS study ON study.id = b.study_id
     WHERE b.id = the_batch AND b.done = 0 AND p.address <> '' AND study.rehearsal_of_id IS NULL;
    RETURN FOUND AND 3 <= (
        SELECT count(*)
          FROM judging_batch AS b
          JOIN crowd_assignment AS a ON a.id = b.assignment_id
          JOIN crowd_participation AS p ON p.id = a.participation_id
         WHERE b.study_id = own.study_id AND b.id < own.id AND b.done = 0 AND p.address = own.address
           AND EXISTS (SELECT FROM judging_slot AS s
                        WHERE s.batch_id = b.id AND s.label_id IS NULL AND s.leased_until >= the_at));
END $$;
