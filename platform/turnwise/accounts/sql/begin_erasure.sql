-- Open an erasure: until the end of this transaction, records of participants may be changed and deleted. What is changed
-- is counted in its row of the log, which the application can write in no other way: this function runs as its owner.
CREATE OR REPLACE FUNCTION accounts_begin_erasure(the_reason text, the_person bigint, the_study bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE accounts_erasure AS e
       SET person = coalesce(e.person, the_person), study = coalesce(e.study, the_study)
     WHERE e.xact = pg_current_xact_id()::text::bigint AND e.at = transaction_timestamp();
    IF NOT FOUND THEN
        INSERT INTO accounts_erasure (at, xact, reason, person, study, rows)
        VALUES (transaction_timestamp(), pg_current_xact_id()::text::bigint, the_reason, the_person, the_study, '{}');
    END IF;
END $$;
