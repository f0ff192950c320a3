# SPDX-License-Identifier: Apache-2.0 OR MIT
"""SGLang's own base class and factory, from its wheel without what it depends on. `check sglang` unpacks the wheel."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path

import pytest

#: The version whose base class the backend is tested against.
SGLANG = "0.5.23"


def pytest_configure(config: pytest.Config) -> None:
    folder = os.environ.get("SAKER_SGLANG")
    if folder is None:
        raise pytest.UsageError("SAKER_SGLANG names the folder of an unpacked wheel of sglang; run bindings/python/check sglang")
    sys.path.insert(0, str(Path(__file__).parent))  # for the stub of torch
    # The package itself imports models and kernels: only its folder is used.
    package = types.ModuleType("sglang")
    package.__path__ = [str(Path(folder) / "sglang")]
    sys.modules["sglang"] = package
