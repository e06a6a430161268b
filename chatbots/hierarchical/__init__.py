"""Hierarchical recurrent chatbots: HRED, VHRED, VHCR, and each with EI (knowledge distilled into it).

Read in this order: `config`, `layers`, `model`, `distillation` (what is computed); `corpus`, `batching`,
`training` (where the weights come from); `perplexity`; `responder` (how a reply is made).
`docs/hierarchical.md` is the guided tour.

Source: Ghandeharioun et al. 2019, "Approximating Interactive Human Evaluation with Self-Play for Open-Domain
Dialog Systems", arXiv:1906.09308, section 3 and appendix A.12; the models are of Serban et al. 2016
(arXiv:1507.04808), Serban et al. 2017 (arXiv:1605.06069) and Park et al. 2018 (arXiv:1804.03424).
"""
