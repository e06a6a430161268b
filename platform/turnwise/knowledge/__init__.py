"""Knowledge bases: entities with facts, and articles about them, that people read before and while they talk.

Bases are versioned sets (`contexts.versioned`). `files` parses bases, an upload in a process of its own, and
writes them. `building` applies the paper's rules, `texts` has the pure text functions. `reading_sets` makes
what the two people of a conversation read; it also parses reading material that a researcher pastes into a
study.
"""
