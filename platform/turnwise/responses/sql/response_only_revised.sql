-- A response stays as it is. Without an erasure, only its author writes another text, while at work and before it is judged;
-- and the responses of a pilot get other numbers.
CREATE OR REPLACE FUNCTION responses_response_only_revised() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.author_id IS NOT NULL THEN
        IF to_jsonb(NEW) - 'repetition' = to_jsonb(OLD) - 'repetition' THEN
            RETURN NEW;
        END IF;
        IF to_jsonb(NEW) - 'text' = to_jsonb(OLD) - 'text'
           AND EXISTS (SELECT FROM public.crowd_assignment AS a WHERE a.participation_id = OLD.author_id AND a.outcome = '')
           AND NOT EXISTS (SELECT FROM public.judging_item AS i WHERE i.response_id = OLD.id) THEN
            RETURN NEW;
        END IF;
    END IF;
    PERFORM public.accounts_count_erased(TG_TABLE_NAME, 1);
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER response_only_revised BEFORE UPDATE ON responses_response
   FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION responses_response_only_revised();
CREATE OR REPLACE TRIGGER response_only_by_erasure AFTER DELETE ON responses_response
   REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION accounts_only_by_erasure();
CREATE OR REPLACE TRIGGER responses_are_never_emptied BEFORE TRUNCATE ON responses_response
   FOR EACH STATEMENT EXECUTE FUNCTION accounts_only_by_erasure();
