-- Count rows of a table in the log of the erasure that this transaction opened; refused if it opened none.
-- The time is compared as well as the number of the transaction, since a restored backup may hold numbers yet to come.
CREATE OR REPLACE FUNCTION accounts_count_erased(the_table text, the_rows bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE accounts_erasure AS e
       SET rows = jsonb_set(e.rows, ARRAY[the_table], to_jsonb(coalesce((e.rows ->> the_table)::bigint, 0) + the_rows))
     WHERE e.xact = pg_current_xact_id()::text::bigint AND e.at = transaction_timestamp();
    IF NOT FOUND THEN
        RAISE EXCEPTION 'only_by_erasure: rows of % stay as they are; only an erasure, which is logged, changes them',
              the_table USING ERRCODE = 'check_violation';
    END IF;
END $$;
