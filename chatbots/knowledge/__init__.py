"""Conversations over what people read: which sentence a turn draws on, and Transformers that are given it.

Read in this order: `conversations` (published files), `sentences`, `oracle` (the sentence nearest to a turn),
`splitting` (frequent and rare), `counts` (how large a collection is); `config`, `model` (what is computed);
`corpus`, `batching`, `training`, `checkpoint` (where the weights come from); `perplexity`; `responder` (how a
reply is made). `docs/topical-chat-models.md` is the guided tour.

Source: Gopalakrishnan et al. 2019, "Topical-Chat: Towards Knowledge-Grounded Open-Domain Conversations",
Interspeech, arXiv:2308.11995.
"""
