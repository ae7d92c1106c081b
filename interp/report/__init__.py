"""Tables to figures and pages. The only code that draws."""

from interp.report.page import write_index, write_report

__all__ = ["write_index", "write_report"]
