-- A version of a reply stays as it is; in a running conversation it may become the kept one, or cease to be.
CREATE OR REPLACE FUNCTION dialogues_reply_version_only_chosen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF to_jsonb(NEW) - 'is_kept' <> to_jsonb(OLD) - 'is_kept'
       OR NOT EXISTS (SELECT FROM public.dialogues_turn AS t
                        JOIN public.dialogues_dialogue AS d ON d.id = t.dialogue_id AND d.ended_at IS NULL
                       WHERE t.id = OLD.turn_id) THEN
        PERFORM public.accounts_count_erased(TG_TABLE_NAME, 1);
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER reply_version_only_chosen BEFORE UPDATE ON dialogues_replyversion
   FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION dialogues_reply_version_only_chosen();
CREATE OR REPLACE TRIGGER reply_version_only_by_erasure AFTER DELETE ON dialogues_replyversion
   REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION accounts_only_by_erasure();
CREATE OR REPLACE TRIGGER reply_versions_are_never_emptied BEFORE TRUNCATE ON dialogues_replyversion
   FOR EACH STATEMENT EXECUTE FUNCTION accounts_only_by_erasure();
