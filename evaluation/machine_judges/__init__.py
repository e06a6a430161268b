"""Machine judges: a prompt from a question set, strict reading of the answer, and agreement with people.

`template` and `model_answers` need neither a network nor a database: whoever asks the model gives the answer.
`imported` reads labels from a table, `panels` makes one label from those of several judges. `judged` holds
labels of both as columns; `agreement`, `calibration` and `together` compute the figures of a judge card.
"""
