"""The operator's page, on which a team member answers in a bot's place (Wizard of Oz).

The page and its socket are here. Operators' presence is in `turnwise.bots.operators`, their replies in
`turnwise.dialogues.operator_replies`.
"""
