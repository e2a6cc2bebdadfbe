"""What all tests share: property tests that are the same on every run, and the fixtures in `support`."""

import os
import signal

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    max_examples=100,
    deadline=None,  # speed is shown by benchmarks, never by a timed test
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("deep", parent=settings.get_profile("ci"), max_examples=5_000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Whoever runs the tests in the background may have Ctrl-C ignored, and all that tests start would inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = [
    "support.cluster",
    "support.faultproxy",
    "support.measured",
    "support.peers",
    "support.chromium",
]
