# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Devices for tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import saker

ENGINES = ["hash_store", "hash_original", "hash_doubling", "hash_plus", "lsm", "tree"]
ORDERED = ["lsm", "tree"]
SOAK = os.environ.get("SAKER_TIER") == "soak"


def tier(check: int, soak: int) -> int:
    """A count: of the short run, or of the long one."""
    return soak if SOAK else check


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store() -> Iterator[saker.Store]:
    with saker.open("mem:?size=64MiB&profile=tiny") as opened:
        yield opened


@pytest.fixture
def image(tmp_path: Path) -> Callable[..., str]:
    """Makes an image and says its URL."""

    def make(engine: str = "hash_store", size: str = "64MiB") -> str:
        path = tmp_path / f"{engine}.img"
        saker.create(path, size, profile="tiny", engine=engine)
        return f"file:{path}"

    return make
