"""A tiny collection in which only what somebody read tells the answer."""

import json

import numpy as np

from chatbots.knowledge.conversations import Conversation, ReadingSet

ANIMALS = ("cat", "dog", "fish", "owl")
PLACES = ("barn", "lake", "roof", "wood")


def quiz(number, seed=0):
    """Conversations: "where is the cat?", "at the barn", as the second speaker has read."""
    random = np.random.default_rng(seed)
    found = []
    for key in range(number):
        place_of = dict(zip(ANIMALS, random.choice(PLACES, len(ANIMALS)), strict=True))
        turns = [("agent_1", "hello!"), ("agent_2", "hi!")]
        for animal in random.choice(ANIMALS, 2, replace=False):
            turns += [
                ("agent_1", f"where is the {animal}?"),
                ("agent_2", f"the {animal} is in the {place_of[animal]}"),
            ]
        texts = tuple(f"The {animal} is in the {place}." for animal, place in place_of.items())
        reading = ReadingSet(("zoo", "farm", "pond"), {"agent_1": (), "agent_2": (" ".join(texts),)})
        found.append(Conversation(f"t_{key}", "ABCD"[key % 4], tuple(turns), reading))
    return found


def write_files(folder, conversations, name):
    """The same as the two files that Topical-Chat publishes."""
    document = {
        each.key: {
            "config": each.configuration,
            "article_url": "",
            "content": [{"agent": agent, "message": text} for agent, text in each.turns],
        }
        for each in conversations
    }
    sets = {}
    for each in conversations:
        sides = {}
        for agent in ("agent_1", "agent_2"):
            lead = {"shortened_wiki_lead_section": " ".join(each.reading.texts[agent]), "fun_facts": []}
            empty = {"fun_facts": []}
            sides[agent] = {
                f"FS{place + 1}": {"entity": entity} | (empty if place else lead)
                for place, entity in enumerate(each.reading.entities)
            }
        sets[each.key] = {"config": each.configuration, **sides, "article": {}}
    (folder / f"{name}.json").write_text(json.dumps(document))
    (folder / f"{name}-reading.json").write_text(json.dumps(sets))
