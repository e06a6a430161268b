-- True if a batch without judgments came after three others of its network address that hold items, too. Its items are
-- given to others once nothing else is left, like places with a bot (crowd/places/reservation.py). Otherwise one person
-- without cookies could hold all the remaining items. Rehearsals are exempt: their workers share one address.
CREATE OR REPLACE FUNCTION judging_exceeds_address_limit(the_batch bigint, the_at timestamptz) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    this record;
BEGIN
    SELECT b.id, b.study_id, p.address INTO this
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
         WHERE b.study_id = this.study_id AND b.id < this.id AND b.done = 0 AND p.address = this.address
           AND EXISTS (SELECT FROM judging_slot AS s
                        WHERE s.batch_id = b.id AND s.label_id IS NULL AND s.leased_until >= the_at));
END $$;
