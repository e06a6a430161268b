"""Machine judges: a prompt from a question set, strict reading of the answer, and agreement with people.

`template` and `parsing` need neither a network nor a database: whoever asks the model gives the answer.
`judged` holds labels of both as columns; `agreement`, `errors` and `together` compute the figures of a
judge card.
"""
