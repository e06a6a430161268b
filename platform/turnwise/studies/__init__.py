"""Studies: the protocol, its asks, bots, consent and sharing.

`tasks` declares what each task must provide; `presets` the published protocols. `services` holds every write,
`queries` the studies that a person may see and their progress. The protocol is fixed once a study has been
opened.
"""
