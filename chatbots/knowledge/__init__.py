"""Topical-Chat: conversations over reading material, and Transformers that read it.

Read in this order: `conversations` (published files), `oracle` (the sentence nearest to a turn), `splitting`
(frequent and rare); `config`, `model` (what is computed); `corpus`, `lessons`, `batching`, `training` (where
the weights come from); `evaluation`; `responder` (how a reply is made); `snippets` (for people to judge).
`docs/topical-chat-models.md` is the guided tour.

Source: Gopalakrishnan et al. 2019, "Topical-Chat: Towards Knowledge-Grounded Open-Domain Conversations",
Interspeech, arXiv:2308.11995.
"""
