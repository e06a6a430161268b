-- Name of a worker outside the platform, different in each study. Outside raters, whose judgments came with a file, take
-- part in no study.
CREATE OR REPLACE FUNCTION crowd_pseudonym(the_worker bigint, the_study bigint) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT p.pseudonym FROM crowd_participation AS p
                      WHERE p.worker_id = the_worker AND p.study_id = the_study AND p.number = 1),
                    (SELECT w.pseudonym FROM crowd_worker AS w WHERE w.id = the_worker))
$$;
