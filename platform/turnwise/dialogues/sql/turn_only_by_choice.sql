-- A turn stays as it is. Without an erasure, only the kept one of several replies of a bot takes the place of another, and a
-- conversation that is being copied from elsewhere is replaced until it is finished.
CREATE OR REPLACE FUNCTION dialogues_turn_only_by_choice() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    erased bigint := 1;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        IF (OLD.id, OLD.dialogue_id, OLD.position, OLD.key) IS NOT DISTINCT FROM (NEW.id, NEW.dialogue_id, NEW.position, NEW.key)
           AND OLD.bot_version_id IS NOT NULL
           AND EXISTS (SELECT FROM public.dialogues_replyversion AS v
                         JOIN public.dialogues_dialogue AS d ON d.id = OLD.dialogue_id AND d.ended_at IS NULL
                        WHERE v.turn_id = OLD.id AND v.is_kept
                          AND (v.text, v.created_at, v.bot_version_id, v.latency_ms, v.seed, v.candidates, v.generation)
                              IS NOT DISTINCT FROM (NEW.text, NEW.created_at, NEW.bot_version_id, NEW.latency_ms,
                                                    NEW.seed, NEW.candidates, NEW.generation)) THEN
            RETURN NEW;
        END IF;
    ELSE
        SELECT count(*) INTO erased FROM gone
         WHERE NOT EXISTS (SELECT FROM public.dialogues_dialogue AS d
                            WHERE d.id = gone.dialogue_id AND d.origin = 'relayed' AND d.ended_at IS NULL);
    END IF;
    IF erased > 0 THEN
        PERFORM public.accounts_count_erased(TG_TABLE_NAME, erased);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER turn_only_by_choice BEFORE UPDATE ON dialogues_turn
   FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION dialogues_turn_only_by_choice();
CREATE OR REPLACE TRIGGER turn_only_by_erasure AFTER DELETE ON dialogues_turn
   REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION dialogues_turn_only_by_choice();
CREATE OR REPLACE TRIGGER turns_are_never_emptied BEFORE TRUNCATE ON dialogues_turn
   FOR EACH STATEMENT EXECUTE FUNCTION accounts_only_by_erasure();
-- What may be replaced depends on both: whether the conversation has ended, and where it is from.
-- Checked afterwards: a trigger before an update locks the row a second time, of whatever columns it is.
CREATE OR REPLACE TRIGGER dialogue_stays_ended AFTER UPDATE OF ended_at, origin ON dialogues_dialogue
   FOR EACH ROW WHEN (OLD.ended_at IS NOT NULL AND NEW.ended_at IS NULL OR OLD.origin <> NEW.origin)
   EXECUTE FUNCTION accounts_only_by_erasure();
