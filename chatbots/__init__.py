"""Chatbots and their hosting, without Django: everything here runs from a terminal or a notebook.

`base` is the contract of a bot, `registry` finds bots by name, `bots/` has one file per bot, and `hosting/`
keeps a loaded bot ready for many dialogues. Models have a package each: `meena`, `hierarchical`, `knowledge`
(Topical-Chat), `huggingface`; `training` is what they share. `services` are bots reached over HTTP,
`identity` handles the question "are you a robot?".
"""
