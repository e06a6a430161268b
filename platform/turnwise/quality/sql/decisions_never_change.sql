CREATE OR REPLACE FUNCTION quality_decisions_never_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        RAISE EXCEPTION 'decisions_never_change: decisions are append-only and cannot be emptied'
              USING ERRCODE = 'check_violation';
    END IF;
    RAISE EXCEPTION 'decisions_never_change: add a decision that undoes %, instead of changing it', OLD.id
          USING ERRCODE = 'check_violation';
END $$;
CREATE OR REPLACE TRIGGER decisions_never_change
BEFORE UPDATE OR DELETE ON quality_decision
   FOR EACH ROW EXECUTE FUNCTION quality_decisions_never_change();
CREATE OR REPLACE TRIGGER decisions_are_never_emptied
BEFORE TRUNCATE ON quality_decision
   FOR EACH STATEMENT EXECUTE FUNCTION quality_decisions_never_change();
