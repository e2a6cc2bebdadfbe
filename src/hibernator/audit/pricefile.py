"""A file with prices, as the command and the web process are given one."""

import csv
import io
from pathlib import Path

import yaml

from hibernator.api.problem import Problem
from hibernator.decisions.prices import Prices, read_csv, read_prices


def read_price_file(file: Path) -> tuple[Prices, list[Problem]]:
    """The prices, and what is wrong with them; ValueError where there is nothing to read."""
    try:
        text = file.read_text("utf-8")
        if file.suffix == ".csv":
            return read_csv(csv.DictReader(io.StringIO(text)))
        return read_prices(yaml.safe_load(text))
    except OSError as error:
        raise ValueError(error.strerror) from error
    except UnicodeDecodeError as error:
        raise ValueError("it is not written in UTF-8") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"this is not valid YAML{f' in line {mark.line + 1}' if mark else ''}") from error
