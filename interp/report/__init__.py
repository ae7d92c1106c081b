"""Tables to figures and pages. The only code that draws."""

from interp.report.explorer import HeadsView
from interp.report.page import write_index, write_report
from interp.report.papers import figure, plate, verdicts_as_latex

__all__ = ["HeadsView", "figure", "plate", "verdicts_as_latex", "write_index", "write_report"]
