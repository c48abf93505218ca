"""What an atlas shows, in sentences with the numbers behind them; one file for each kind of analysis."""

from headscope.facts.findings.finding import Finding
from headscope.facts.findings.gather import findings

__all__ = ["Finding", "findings"]
