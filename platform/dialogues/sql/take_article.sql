-- An article of a version that fewer than so many conversations of a study have, drawn by the seed, taken once more.
-- Nothing if there is none, or if another conversation took its last place at the same moment.
CREATE OR REPLACE FUNCTION dialogues_take_article(
    the_study bigint, the_version bigint, the_seed bigint, the_most integer
) RETURNS bigint LANGUAGE sql AS $$
    INSERT INTO dialogues_articleuse AS taken (study_id, article_id, uses)
    SELECT the_study, a.id, 1
      FROM knowledge_article AS a
      LEFT JOIN dialogues_articleuse AS u ON u.article_id = a.id AND u.study_id = the_study
     WHERE a.version_id = the_version AND coalesce(u.uses, 0) < the_most
     ORDER BY hashint4extended(a.number, the_seed), a.number
     LIMIT 1
        ON CONFLICT (study_id, article_id) DO UPDATE SET uses = taken.uses + 1 WHERE taken.uses < the_most
    RETURNING taken.article_id
$$;
