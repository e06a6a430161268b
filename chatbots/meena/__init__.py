"""Meena: the Evolved Transformer chatbot, from message trees to sampled and ranked replies.

Read in this order: `config`, `attention`, `layers`, `blocks`, `model` (what is computed); `cache`,
`decoding_state`, `sampling`, `responder` (how a reply is made); `everyday`, `corpus`, `training` (where the
weights come from). `docs/meena.md` is the guided tour.

Source: Adiwardana et al. 2020, "Towards a Human-like Open-Domain Chatbot", arXiv:2001.09977.
"""
