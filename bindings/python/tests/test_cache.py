# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A device as a cache."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import saker


def key(n: int) -> bytes:
    return n.to_bytes(16, "big")


def test_the_oldest_go() -> None:
    with saker.KvCache("mem:?size=64MiB&profile=tiny", bytes_max=3 * 20_016) as cache:
        for n in range(3):
            assert cache.put_if_absent(key(n), bytes([n]) * 20_000)
        assert cache.get(key(0)) == bytes(20_000)
        assert not cache.put_if_absent(key(0), b"other")
        assert cache.put_if_absent(key(3), bytes(20_000))
        assert cache.exists([key(n) for n in range(4)]) == [True, False, True, True]
        assert cache.prefix([key(2), key(3), key(1)]) == 2 and key(2) in cache and key(1) not in cache
        counted = cache.stats()
        assert (counted["evicted"], counted["present"], counted["stored"]) == (1, 1, 4)
        assert cache.bytes == 3 * 20_016
        assert cache.delete(key(2)) and not cache.delete(key(2))
        cache.clear()
        assert cache.bytes == 0 and cache.get(key(0), b"none") == b"none"


def test_a_full_device_makes_room(engine: str) -> None:
    with saker.KvCache(f"mem:?size=64MiB&profile=tiny&engine={engine}") as cache:
        for n in range(3000):
            assert cache.put_if_absent(key(n), n.to_bytes(4, "big") * 5000)
        buffer = bytearray(20_000)
        assert cache.get_into(key(2999), buffer) == 20_000 and buffer == (2999).to_bytes(4, "big") * 5000
        assert cache.stats()["evicted"] > 500 and key(0) not in cache


def test_many_at_once() -> None:
    with saker.KvCache("mem:?size=64MiB&profile=tiny") as cache:
        keys = [key(n) for n in range(10)]
        values = [bytearray([n]) * 1000 for n in range(10)]
        assert cache.put_many_if_absent(keys, values) == [True] * 10
        assert cache.put_many_if_absent(keys[:2], values[:2]) == [False] * 2
        memory = bytearray(10_000)
        parts = [memoryview(memory)[n * 1000 : (n + 1) * 1000] for n in range(10)]
        assert cache.get_many_into([*keys[:9], b"none"], parts) == [1000] * 9 + [None]
        assert memory[:9000] == b"".join(values[:9]) and not any(memory[9000:])
        with pytest.raises(ValueError):
            cache.get_many_into(keys, parts[:9])
        with pytest.raises(BufferError):
            cache.get_many_into([keys[0], keys[1]], [memory, b"read only"])


def test_a_restart_keeps_blocks(image: Callable[..., str]) -> None:
    url = image(size="64MiB")
    with saker.KvCache(url) as cache:
        for n in range(2000):
            cache.put_if_absent(key(n), n.to_bytes(4, "big") * 5000)
        kept, last = cache.bytes, cache.get(key(1999))
    cache = saker.KvCache(url)
    assert (cache.bytes, cache.get(key(1999))) == (kept, last)
    cache.put_if_absent(b"new", b"block")
    del cache  # as if killed
    with saker.KvCache(url) as cache:
        assert cache.get(b"new") == b"block"
    with saker.KvCache(url, bytes_max=500_000) as cache:
        assert cache.bytes <= 500_000


def test_refused() -> None:
    for wrong in ({"order": "random"}, {"ttl": 0}, {"ttl": float("nan")}, {"ttl": -1}):
        with pytest.raises(ValueError):
            saker.KvCache("mem:?size=64MiB&profile=tiny", **wrong)  # type: ignore[arg-type]
    with saker.KvCache("mem:?size=64MiB&profile=tiny", bytes_max=1000, ttl=3600) as cache:
        with pytest.raises(saker.ValueTooLongError):
            cache.put_if_absent(b"key", bytes(2000))
        with pytest.raises(saker.KeyLengthError):
            cache.put_if_absent(bytes(17), b"")
    with pytest.raises(saker.ClosedError):
        cache.get(b"key")
