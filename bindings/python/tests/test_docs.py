# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The examples of the documentation run."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
import saker

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("page", ["python.md"])
def test_examples_of_a_page(page: str) -> None:
    outcome = doctest.testfile(str(DOCS / page), module_relative=False, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert outcome.attempted > 5 and outcome.failed == 0


def test_examples_of_the_package() -> None:
    outcome = doctest.testmod(saker)
    assert outcome.attempted > 0 and outcome.failed == 0


def test_the_page_names_every_error() -> None:
    text = (DOCS / "python.md").read_text()
    named = [name for name in dir(saker.errors) if name.endswith("Error") and name not in ("SakerError", "HostError")]
    assert [name for name in named if name not in text] == []
