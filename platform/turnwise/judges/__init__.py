"""Machine judges: bots that answer a study's questions about the items of its queue.

A judge is a bot with a template and a number of draws; a run asks it about the items of one ask, within a
budget (`budgets`). The run of a judge from elsewhere has the labels of a file (`label_imports`), that of a
panel those that follow from its members (`panels`). Labels of machines have a table of their own, and no
figure about people reads it. `services` write, `queries` read, `tasks` ask the bot in slices of time,
`judge_card` compares labels with those of people (a new figure is computed in
`evaluation/machine_judges`, and its words are here), `item_draws` draws items for people by a judge's
uncertainty.
"""
