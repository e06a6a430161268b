"""Charts of the reports, drawn by Matplotlib in the colours of a palette, for a desktop and for a phone."""

from reports.charts.drawn import Drawing, drawings, kind_and_ask, pdf, svgs

__all__ = ["Drawing", "drawings", "kind_and_ask", "pdf", "svgs"]
