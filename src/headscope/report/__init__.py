"""The report: what an atlas shows, in words and pictures, in one HTML file."""

from headscope.report.finding import Finding
from headscope.report.gather import findings
from headscope.report.page import write_report

__all__ = ["Finding", "findings", "write_report"]
