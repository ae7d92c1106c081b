"""Tables to figures and pages. The only code that draws."""

from interp.report.page import write_index, write_report
from interp.report.papers import figure, verdicts_as_latex

__all__ = ["figure", "verdicts_as_latex", "write_index", "write_report"]
