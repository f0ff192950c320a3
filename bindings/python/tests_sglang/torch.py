# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the backend and its base class use of PyTorch, over NumPy. It stands for `torch`, whose wheel is hundreds of megabytes."""

from __future__ import annotations

from typing import Any

import numpy as np

uint8, float16, int64 = np.dtype("u1"), np.dtype("f2"), np.dtype("i8")
dtype = np.dtype


class _Device:
    type = "cpu"


class Tensor:
    """A tensor of the CPU: no buffer protocol, as PyTorch's."""

    device = _Device()

    def __init__(self, array: Any) -> None:
        self.array = array

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def numel(self) -> int:
        return int(self.array.size)

    def element_size(self) -> int:
        return int(self.array.itemsize)

    def is_contiguous(self) -> bool:
        return bool(self.array.flags.c_contiguous)

    def contiguous(self) -> Tensor:
        return Tensor(np.ascontiguousarray(self.array))

    def flatten(self) -> Tensor:
        return Tensor(self.array.reshape(-1))

    def tolist(self) -> list[Any]:
        return list(self.array.tolist())

    def item(self) -> Any:
        return self.array.item()

    def __getitem__(self, index: Any) -> Tensor:
        return Tensor(self.array[index])

    def __len__(self) -> int:
        return len(self.array)


def zeros(*shape: int, dtype: Any = float16) -> Tensor:
    return Tensor(np.zeros(shape, dtype))


def arange(stop: int) -> Tensor:
    return Tensor(np.arange(stop))


def frombuffer(buffer: Any, dtype: Any) -> Tensor:
    return Tensor(np.frombuffer(buffer, dtype))


def equal(one: Tensor, other: Tensor) -> bool:
    return bool(np.array_equal(one.array, other.array))
