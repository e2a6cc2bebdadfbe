"""Lets benchmarks import what tests have made: the fault proxy, and the control plane behind it."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))
