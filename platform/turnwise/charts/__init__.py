"""Charts of results that are given to them: which study these are of, and where they are stored, others know.

Drawn by Matplotlib in the colours of a palette, for a desktop and for a phone; `interactive` has the same
charts as numbers, for the page's script to draw. Matplotlib is not for the process that serves workers, so
pages import only what loads without it: `interactive`, `names`, `palettes`, `panels`, `pdf` and `room`.
"""
