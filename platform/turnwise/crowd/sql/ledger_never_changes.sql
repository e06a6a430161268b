CREATE OR REPLACE FUNCTION crowd_ledger_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'ledger_never_changes: add an entry that reverses %, instead of changing it', OLD.id
          USING ERRCODE = 'check_violation';
END $$;
CREATE OR REPLACE TRIGGER ledger_never_changes
BEFORE UPDATE OR DELETE ON crowd_payentry
   FOR EACH ROW EXECUTE FUNCTION crowd_ledger_never_changes();
