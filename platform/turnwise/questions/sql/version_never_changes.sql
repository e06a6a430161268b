CREATE OR REPLACE FUNCTION questions_version_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        RAISE EXCEPTION 'question_version_never_changes: versions stay, so the table cannot be emptied'
              USING ERRCODE = 'check_violation';
    END IF;
    RAISE EXCEPTION 'question_version_never_changes: save a new version instead of changing %', OLD.key
          USING ERRCODE = 'check_violation';
END $$;
CREATE OR REPLACE TRIGGER question_version_never_changes
BEFORE UPDATE OR DELETE ON questions_setversion
   FOR EACH ROW EXECUTE FUNCTION questions_version_never_changes();
CREATE OR REPLACE TRIGGER question_versions_are_never_emptied
BEFORE TRUNCATE ON questions_setversion
   FOR EACH STATEMENT EXECUTE FUNCTION questions_version_never_changes();
