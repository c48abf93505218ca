"""The report: what an atlas shows, in words and pictures, in one HTML file."""

from headscope.facts.findings import Finding, findings
from headscope.report.page import write_report

__all__ = ["Finding", "findings", "write_report"]
