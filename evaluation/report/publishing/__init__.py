"""Parts of a report for papers, registries and public pages: LaTeX, method, plan, published results. Pure.

`registry_forms` has one form for each public registry; `studies/plans/views.py` of the platform offers each
as a file.
"""
