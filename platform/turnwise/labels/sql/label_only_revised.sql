-- A label stays as it is. Without an erasure, only its rater revises the answers, which is counted, while at work in the study.
CREATE OR REPLACE FUNCTION labels_label_only_revised() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    revised CONSTANT text[] := '{answers,changed_at,changes,shown_ms,answer_ms}';
BEGIN
    IF to_jsonb(NEW) - revised <> to_jsonb(OLD) - revised
       OR NEW.changes <> OLD.changes + 1
       OR NEW.changed_at < OLD.changed_at
       OR NOT EXISTS (SELECT FROM public.crowd_participation AS p
                        JOIN public.crowd_assignment AS a ON a.participation_id = p.id AND a.outcome = ''
                       WHERE p.worker_id = OLD.rater_id AND p.study_id = OLD.study_id) THEN
        PERFORM public.accounts_count_erased(TG_TABLE_NAME, 1);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER label_only_revised BEFORE UPDATE ON labels_label
   FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION labels_label_only_revised();
CREATE OR REPLACE TRIGGER label_only_by_erasure AFTER DELETE ON labels_label
   REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION accounts_only_by_erasure();
CREATE OR REPLACE TRIGGER labels_are_never_emptied BEFORE TRUNCATE ON labels_label
   FOR EACH STATEMENT EXECUTE FUNCTION accounts_only_by_erasure();
-- Work that has ended stays so, as what may be revised depends on it.
CREATE OR REPLACE TRIGGER assignment_stays_ended AFTER UPDATE OF outcome ON crowd_assignment
   FOR EACH ROW WHEN (OLD.outcome <> '' AND NEW.outcome = '') EXECUTE FUNCTION accounts_only_by_erasure();
