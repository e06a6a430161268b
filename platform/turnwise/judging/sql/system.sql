-- Name in reports of the system behind a response or conversation: "Human" if no bot took part.
CREATE OR REPLACE FUNCTION judging_system(the_response bigint, the_dialogue bigint) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        (SELECT run.system FROM responses_response AS r JOIN responses_responserun AS run ON run.id = r.run_id
          WHERE r.id = the_response),
        (SELECT string_agg(b.title, ' and ' ORDER BY p.number)
           FROM dialogues_seat AS p JOIN bots_bot AS b ON b.id = p.bot_id WHERE p.dialogue_id = the_dialogue),
        CASE WHEN the_dialogue IS NOT NULL THEN 'Human' END,
        'unknown');
$$;
