"""The summary of a run: how many functions are differentiated by each route."""

from collections import Counter

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for report in terminalreporter.getreports("passed"):
        if report.when == "call" and "thirdparty" in report.nodeid:
            counts.update((str(route), str(found)) for route, found in report.user_properties)
    for route in sorted({route for route, _ in counts}):
        right, refused, wrong = [counts[route, found] for found in ("right", "refused", "wrong")]
        share = 100.0 * right / (right + refused + wrong)
        terminalreporter.write_line(
            f"{route}: {right} right ({share:.0f} %), {refused} refused, {wrong} wrong"
        )
