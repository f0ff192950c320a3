# SPDX-License-Identifier: Apache-2.0 OR MIT
"""No call keeps anything."""

from __future__ import annotations

import gc
import resource
import sys
import tracemalloc
from collections.abc import Callable

import saker

from conftest import tier


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def calls_of(store: saker.Store, cache: saker.KvCache) -> list[Callable[[], object]]:
    buffer = bytearray(100)

    def failing() -> None:
        try:
            store[b"none"]
        except KeyError:
            pass

    def batch() -> None:
        with store.batch() as writes:
            writes.put(b"key", b"value")

    def txn() -> None:
        with store.txn() as one:
            one.get(b"key")
            one.put(b"key", b"value")

    def scan() -> None:
        with store.scan(limit=3) as pairs:
            list(pairs)

    return [
        lambda: store.put(b"key", b"value"),
        lambda: store.get(b"key"),
        lambda: store.get_into(b"key", buffer),
        lambda: store.exists(b"key"),
        lambda: store.multi_get([b"key", b"none"]),
        lambda: store.put_many([(b"key", b"value")]),
        lambda: cache.put_if_absent(b"key", b"value"),
        lambda: cache.get_into(b"key", buffer),
        lambda: cache.exists([b"key"]),
        failing,
        batch,
        txn,
        scan,
    ]


def test_a_million_calls_keep_nothing() -> None:
    """Neither memory of Python's, nor of the process, nor references."""
    with (
        saker.open("mem:?size=64MiB&profile=tiny") as store,
        saker.KvCache("mem:?size=64MiB&profile=tiny") as cache,
    ):
        store.put_many((b"%d" % n, b"value") for n in range(100))
        calls = calls_of(store, cache)
        rounds = tier(2000, 1_000_000 // len(calls) + 1)

        def run(count: int) -> None:
            for _ in range(count):
                for call in calls:
                    call()

        # The devices have written all their memory once, and caches of the interpreter are full.
        for n in range(6000):
            store.put(b"large", bytes(20_000))
        run(tier(1000, 20_000))
        constants = [b"key", b"value", b"none", store, cache, saker.KeyNotFoundError]
        references = [sys.getrefcount(constant) for constant in constants]
        gc.collect()
        tracemalloc.start()
        run(10)
        before, resident_before = tracemalloc.get_traced_memory()[0], resident()
        run(rounds)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
        resident_grown = resident() - resident_before
        tracemalloc.stop()
        print(f"{rounds * len(calls)} calls: Python's memory grew by {grown} bytes, the process by {resident_grown}")
        assert grown < 50_000, f"{grown} bytes of Python objects after {rounds * len(calls)} calls"
        # A byte a call would be a megabyte; a leaked object is 32 bytes or more.
        assert resident_grown < tier(4 << 20, 8 << 20), f"{resident_grown} bytes after {rounds * len(calls)} calls"
        grown_references = [sys.getrefcount(c) - r for c, r in zip(constants, references, strict=True)]
        assert max(grown_references) <= 2, grown_references


def test_devices_that_are_opened_and_forgotten() -> None:
    """Their memory and their threads go."""
    import threading

    def run(count: int) -> None:
        for n in range(count):
            store = saker.open(f"mem:?size=16MiB&profile=tiny&threads={n % 2}")
            store[b"key"] = bytes(20_000)
            if n % 3:
                store.close()

    run(10)
    before, threads = resident(), threading.active_count()
    run(tier(40, 400))
    assert resident() - before < 20 << 20
    assert threading.active_count() == threads
