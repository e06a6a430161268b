"""Invited experts of a judging study, and the adjudication of items on which they differ.

An expert is an invitation with a personal link and a share of the items; the queue deals them like any other
worker's. An adjudicator, invited or a researcher of the study, decides the items on which raters differ.
`invitations` and `services` write, `disputes` finds what is to be decided; what counts as a difference is in
`evaluation.report.adjudication`.
"""
