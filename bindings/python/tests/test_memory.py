# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Whose memory is read and written."""

from __future__ import annotations

import array
import ctypes
import gc
import sys
import weakref

import pytest
import saker

numpy = pytest.importorskip("numpy")


class Tensor:
    """What a call looks at of a tensor of PyTorch, on memory of ctypes."""

    def __init__(self, size: int, device: str = "cpu", contiguous: bool = True, element: int = 2) -> None:
        self.memory = (ctypes.c_char * size)()
        self._contiguous, self._element = contiguous, element
        self.device = type("device", (), {"type": device})

    def data_ptr(self) -> int:
        return ctypes.addressof(self.memory)

    def is_contiguous(self) -> bool:
        return self._contiguous

    def numel(self) -> int:
        return len(self.memory) // self._element

    def element_size(self) -> int:
        return self._element


VALUE = bytes(range(256)) * 16


def test_get_into_all_kinds(engine: str) -> None:
    with saker.open(f"mem:?size=64MiB&profile=tiny&engine={engine}") as store:
        store[b"key"] = VALUE
        plain = bytearray(4096)
        assert store.get_into(b"key", plain) == 4096 and plain == VALUE
        part = bytearray(4096)
        assert store.get_into(b"key", memoryview(part)[100:200]) == 4096
        assert part[100:200] == VALUE[:100] and not any(part[:100]) and not any(part[200:])
        for kind in ("u1", "f2", "i8"):
            into = numpy.zeros(4096 // numpy.dtype(kind).itemsize, dtype=kind)
            assert store.get_into(b"key", into) == 4096 and into.tobytes() == VALUE
        matrix = numpy.zeros((4, 4096), dtype="u1")
        assert store.get_into(b"key", matrix[2]) == 4096
        assert matrix[2].tobytes() == VALUE and not matrix[[0, 1, 3]].any()
        tensor = Tensor(4096)
        assert store.get_into(b"key", tensor) == 4096 and tensor.memory.raw == VALUE
        words = array.array("Q", [0]) * 512
        assert store.get_into(b"key", words) == 4096 and words.tobytes() == VALUE
        assert store.get_into(b"none", plain) is None and plain == VALUE
        assert store.get_into(b"key", bytearray()) == 4096


def test_put_from_all_kinds(store: saker.Store) -> None:
    tensor = Tensor(4096)
    tensor.memory.raw = VALUE
    of_numpy = numpy.frombuffer(VALUE, dtype="i4")
    for value in (VALUE, bytearray(VALUE), memoryview(VALUE), of_numpy, tensor):
        store.put(b"key", value)
        assert store[b"key"] == VALUE
        store[bytearray(b"key")] = b""
    store.put(memoryview(b"key"), Tensor(0))
    assert store[numpy.frombuffer(b"key", dtype="u1")] == b""


def test_refused_memory(store: saker.Store) -> None:
    store[b"key"] = VALUE
    with pytest.raises((BufferError, TypeError)):
        store.get_into(b"key", VALUE)  # bytes are not written to
    frozen = numpy.zeros(4096, dtype="u1")
    frozen.flags.writeable = False
    with pytest.raises((BufferError, ValueError)):
        store.get_into(b"key", frozen)
    with pytest.raises((BufferError, ValueError)):
        store.get_into(b"key", numpy.zeros((4096, 2), dtype="u1")[:, 0])
    with pytest.raises(TypeError, match="cuda"):
        store.get_into(b"key", Tensor(4096, device="cuda"))
    with pytest.raises(ValueError, match="contiguous"):
        store.get_into(b"key", Tensor(4096, contiguous=False))
    with pytest.raises(TypeError):
        store.get_into(b"key", object())


def test_memory_is_given_back(store: saker.Store) -> None:
    """A buffer can be resized afterwards, and nothing keeps objects alive: also when the call fails."""
    buffer, key = bytearray(VALUE), bytearray(b"key")
    store[key] = buffer
    store.get_into(key, buffer)
    with pytest.raises(saker.KeyLengthError):
        store.put(bytearray(), buffer)
    with pytest.raises(saker.ValueTooLongError):
        store.put(key, bytearray(3 << 20))
    buffer.extend(b"more")
    key.clear()
    matrix = numpy.zeros(4096, dtype="u1")
    before, gone = sys.getrefcount(matrix), weakref.ref(matrix)
    store.get_into(b"key", matrix)
    store.put(b"key", matrix)
    store.put_many([(b"key", matrix)])
    assert sys.getrefcount(matrix) == before
    del matrix
    gc.collect()
    assert gone() is None


def test_no_copy_is_made() -> None:
    """A read of 2 MB into a buffer allocates nothing of that size in Python."""
    import tracemalloc

    size = 2_000_000
    with saker.open("mem:?size=512MiB") as store:
        store[b"key"] = bytes(size)
        buffer = bytearray(size)
        tracemalloc.start()
        store.get_into(b"key", buffer)
        store.put(b"key", buffer)
        _now, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 100_000
