"""Meena: the Evolved Transformer chatbot, from message trees to sampled and ranked replies.

Read in this order: `config`, `attention`, `convolution`, `feed_forward`, `encoder_block`, `decoder_block`,
`model` (what is computed); `cache`, `sampling`, `safety`, `responder` (how a reply is made);
`corpus`, `training`, `perplexity` (where the weights come from). `docs/meena.md` is the guided tour.

Source: Adiwardana et al. 2020, "Towards a Human-like Open-Domain Chatbot", arXiv:2001.09977.
"""
