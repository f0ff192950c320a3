# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Iterators over a device."""

from __future__ import annotations

import gc

import pytest
import saker

from conftest import ORDERED


def key(n: int) -> bytes:
    return b"k%05d" % n + (b" of more than 16 bytes" if n % 4 == 3 else b"")


def filled(engine: str, pairs: int = 2000) -> saker.Store:
    store = saker.open(f"mem:?size=64MiB&profile=tiny&engine={engine}")
    store.put_many((key(n), b"%d" % n * 50) for n in range(pairs))
    return store


def test_a_scan_sees_each_pair_once(engine: str) -> None:
    with filled(engine) as store:
        pairs = list(store.scan())
        assert len(pairs) == 2000 and dict(pairs) == {key(n): b"%d" % n * 50 for n in range(2000)}
        assert sorted(store.scan_keys()) == sorted(key(n) for n in range(2000))
        some = dict(store.scan(key(100), key(200), prefix=b"k001"))
        assert sorted(some) == sorted(key(n) for n in range(100, 200))
        assert len(list(store.scan(limit=17))) == 17


@pytest.mark.parametrize("engine", ORDERED)
def test_order_and_moment(engine: str) -> None:
    with filled(engine) as store:
        scan = store.scan()
        first = next(scan)
        store.put(key(1), b"changed")
        store.delete(key(2))
        store.put(b"k00000 new", b"")
        rest = dict(scan)
        assert first[0] == key(0) and rest[key(1)] == b"1" * 50 and key(2) in rest and b"k00000 new" not in rest
        assert scan.order == "bytes"
        short = [k for k in store.scan_keys() if len(k) <= 16]
        assert short == sorted(short)
        backwards = [k for k in store.scan_keys(reverse=True) if len(k) <= 16]
        assert backwards == short[::-1]
        assert list(store.scan_keys(b"k00100", b"k00104", reverse=True))[:3] == [b"k00102", b"k00101", b"k00100"]


def test_hash_engines_have_no_falling_order(store: saker.Store) -> None:
    with pytest.raises(saker.NoOrderError):
        store.scan(reverse=True)


def test_a_scan_and_other_calls(engine: str) -> None:
    """Everything that is seen is deleted on the way."""
    with filled(engine, 500) as store:
        for seen, _value in store.scan():
            assert store.delete(seen)
        assert not store


@pytest.mark.parametrize("engine", ORDERED)
def test_iterators_close(engine: str) -> None:
    with filled(engine) as store:
        for _ in range(50):
            with store.scan() as scan:
                next(scan)
            assert list(scan) == []
        for _ in range(50):
            next(store.scan())  # forgotten: the next one ends it
        gc.collect()
        held = [store.scan() for _ in range(16)]
        with pytest.raises(saker.TooManyScansError, match="end one"):
            store.scan()
        held[0].close()
        store.scan().close()


def test_a_format_in_between(engine: str) -> None:
    with filled(engine, 500) as store:
        scan = store.scan()
        next(scan)
        store.clear()
        left = list(scan)  # what was read ahead; no error, nothing invented
        assert len(left) < 500 and all(value == b"%d" % int(k[1:6]) * 50 for k, value in left)
        assert list(store.scan()) == []
