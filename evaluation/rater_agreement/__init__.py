"""Agreement between raters: alpha, kappa, intraclass correlations, Dawid-Skene, influence of raters."""
