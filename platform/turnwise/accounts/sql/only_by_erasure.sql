-- For triggers of tables with records of participants: changing and deleting rows takes an erasure, and the table is never
-- emptied. A deletion is counted per statement, whose rows the trigger names `gone`; a change per row.
CREATE OR REPLACE FUNCTION accounts_only_by_erasure() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    erased bigint := 1;
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        RAISE EXCEPTION 'only_by_erasure: % is never emptied', TG_TABLE_NAME USING ERRCODE = 'check_violation';
    END IF;
    IF TG_OP = 'DELETE' THEN
        SELECT count(*) INTO erased FROM gone;
    END IF;
    IF erased > 0 THEN
        PERFORM public.accounts_count_erased(TG_TABLE_NAME, erased);
    END IF;
    RETURN NEW;
END $$;
