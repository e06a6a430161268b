"""Machine judges: bots that answer a study's questions about the items of its queue.

A judge is a bot with a template and a number of draws; a run asks it about the items of one ask. Labels of
machines have a table of their own, and no figure about people reads it. `services` write, `queries` read,
`tasks` ask the bot in slices of time, `judge_card` compares labels with those of people.
"""
