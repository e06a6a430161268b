"""Charts of computed results. This app knows no studies and stores nothing.

Matplotlib draws each chart in the colours of a palette, for a desktop and for a phone; `interactive_plots`
has the same charts as numbers for the page's script (static/js/charts). The process that serves workers must
not load Matplotlib, so pages import only modules without it: `interactive_plots`, `layout`, `marks` and
`pdf`.
"""
