"""Charts of the reports, drawn by Matplotlib in the colours of a palette, for a desktop and for a phone.

Only `names` and `palettes` load without Matplotlib, which the process that serves workers does not wait for.
"""
