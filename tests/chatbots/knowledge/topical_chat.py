"""The shared part of Topical-Chat in the two files that its authors publish.

Its copy in shared/data is repacked: a conversation or reading set in each line, texts under other names,
leads by number; facts and articles are not in it.
"""

import gzip
import json
from pathlib import Path

SHARED = Path(__file__).parents[4] / "shared" / "data" / "topical-chat"
LEADS = ("shortened_wiki_lead_section", "summarized_wiki_lead_section")
PARTS = ("train", "valid_freq", "valid_rare")


def lines(name):
    with gzip.open(SHARED / name, "rt") as file:
        return [json.loads(line) for line in file]


def published():
    """The conversations of each part, and the reading sets, by their ids."""
    with gzip.open(SHARED / "wiki_sections.json.gz", "rt") as file:
        texts = {lead: {number: text for text, number in of.items()} for lead, of in json.load(file).items()}
    parts = {part: {} for part in PARTS}
    for name in ("topical_chat_train_part", "topical_chat_valid"):
        for talk in lines(f"{name}.jsonl.gz"):
            content = [
                {("message" if key == "text" else key): value for key, value in turn.items()}
                for turn in talk["turns"]
            ]
            parts[talk["split"] if talk["split"] in parts else "train"][talk["id"]] = {
                "article_url": talk["article_url"],
                "config": talk["config"],
                "content": content,
                "conversation_rating": talk["conversation_rating"],
            }
    sets = {}
    for one in lines("reading_sets_prebuild.jsonl.gz"):
        sides = {}
        for agent in ("agent_1", "agent_2"):
            sides[agent] = {
                key: {"entity": section["entity"], "fun_facts": []}
                | {lead: texts[lead][section[lead]] for lead in LEADS if lead in section}
                for key, section in one[agent].items()
            }
        sets[one["id"]] = {"config": one["config"], **sides, "article": {"url": one["article_url"]}}
    return parts, sets


def write_published(folder):
    """Write `train.json`, `valid_freq.json`, `valid_rare.json` and `reading_sets.json` into a folder."""
    parts, sets = published()
    for part, documents in parts.items():
        (folder / f"{part}.json").write_text(json.dumps(documents))
    (folder / "reading_sets.json").write_text(json.dumps(sets))
