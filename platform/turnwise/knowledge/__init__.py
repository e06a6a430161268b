"""Knowledge bases: entities with facts, and articles about them, that people read before and while they talk.

Bases are versioned sets (`contexts.versioned`). `files` parses and writes bases, `building` applies the
paper's rules, `texts`
has the pure text functions, `reading` parses a file in a process of its own. `reading_sets` makes what the
two people of a
conversation read; it also parses reading material that a researcher pastes into a study.
"""
