"""Parts of a report for papers, registries and public pages: LaTeX, method, plan, published results. Pure."""
