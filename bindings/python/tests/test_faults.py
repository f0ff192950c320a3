# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a program is told when a device is full, slow, out of reach or killed, wherever it is."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
import saker
from saker import aio

from network import Network, Target, a_network, a_target, needs_a_server

VALUE = bytes(20_000)
LOST = (saker.UnreachableError, saker.OutcomeUnknownError, saker.IteratorLostError)
SLOW = "timing=real&fault.spike=1/1&fault.spike_ns=30000000"


@pytest.fixture
def path(tmp_path: Path, engine: str) -> Path:
    saker.create(tmp_path / "disk.img", "8MiB", profile="tiny", engine=engine)
    return tmp_path / "disk.img"


def places(path: Path, engine: str) -> list[str]:
    """The URLs of a device in memory and in an image."""
    return [f"mem:?size=8MiB&profile=tiny&engine={engine}", f"file:{path}"]


def fill(store: saker.Store) -> int:
    for n in range(20_000):
        try:
            store.put(b"%d" % n, VALUE)
        except saker.CapacityExceededError as error:
            assert error.status == 0x81 and not isinstance(error, OSError)
            return n
    raise AssertionError("it is never full")


def is_full(store: saker.Store) -> None:
    stored = fill(store)
    assert stored > 50
    with pytest.raises(saker.CapacityExceededError) as refused:
        with store.batch() as batch:
            for n in range(20):
                batch.put(b"batch %d" % n, VALUE)
    assert refused.value.key is not None and refused.value.key.startswith(b"batch ")
    with pytest.raises(saker.CapacityExceededError):
        store.put_many((b"many %d" % n, VALUE) for n in range(20))
    for n in range(20):
        store.delete(b"batch %d" % n)
        store.delete(b"many %d" % n)
    assert all(store[b"%d" % n] == VALUE for n in range(stored))
    for n in range(stored):
        assert store.delete(b"%d" % n)
    store[b"again"] = VALUE


def test_a_full_device(path: Path, engine: str) -> None:
    for url in places(path, engine):
        with saker.open(url) as store:
            is_full(store)


@needs_a_server
def test_a_full_device_at_a_target(path: Path) -> None:
    with a_target(path) as target, saker.open(target.url) as store:
        is_full(store)


def test_a_full_device_awaited(path: Path, engine: str) -> None:
    async def work(url: str) -> None:
        async with await aio.open(url) as store:
            answers = await asyncio.gather(
                *(store.put(b"%d" % n, VALUE) for n in range(600)), return_exceptions=True
            )
            assert any(isinstance(answer, saker.CapacityExceededError) for answer in answers)
            for n, answer in enumerate(answers):
                assert answer is None or isinstance(answer, saker.CapacityExceededError), answer
                assert (await store.exists(b"%d" % n)) == (answer is None)
            assert await store.delete(b"0") or await store.delete(b"1")

    for url in places(path, engine):
        asyncio.run(work(url))


def read_again(store: saker.Store, key: bytes) -> bytes:
    """A value, when the handle has found the target again: it looks every two seconds."""
    for _ in range(300):
        try:
            return store[key]
        except saker.UnreachableError:
            time.sleep(0.05)
    raise AssertionError("it does not come back")


def behind(network: Network, target: Target) -> str:
    return f"tcp://127.0.0.1:{network.port}/{target.nqn}?timeout=1&reconnect=0"


@pytest.mark.parametrize("engine", ["hash_store", "lsm"])
@needs_a_server
@pytest.mark.parametrize("fault", ["cut", "hold"])
def test_a_lost_connection(path: Path, fault: str) -> None:
    with a_target(path) as target, a_network(target.address) as network, saker.open(behind(network, target)) as store:
        store[b"key"] = b"old"
        txn = store.txn()
        txn.put(b"other", b"value")
        network.cut() if fault == "cut" else setattr(network, "state", "hold")
        with pytest.raises(LOST) as written:
            store[b"key"] = b"new"
        if fault == "hold":
            assert isinstance(written.value, saker.OutcomeUnknownError)
        with pytest.raises(saker.UnreachableError) as read:
            store.get(b"key")
        assert isinstance(read.value, ConnectionError) and "\n" not in str(read.value)
        with pytest.raises(saker.SakerError):
            txn.commit()
        with pytest.raises(LOST):
            list(store.scan())
        network.state = "pass"
        assert read_again(store, b"key") in (b"old", b"new")
        store[b"key"] = b"newer"
        assert store[b"key"] == b"newer"


@pytest.mark.parametrize("engine", ["hash_store", "lsm"])
@needs_a_server
@pytest.mark.parametrize("fault", ["cut", "hold"])
def test_a_lost_connection_awaited(path: Path, fault: str) -> None:
    """While a device that does not answer is waited for, others answer; a task that is cancelled meanwhile leaves the device in order."""

    async def work(url: str, network: Network) -> None:
        async with await aio.open(url) as store, await aio.open("mem:?size=64MiB&profile=tiny") as other:
            await store.put(b"key", b"old")
            network.state = fault
            await asyncio.sleep(0.05)
            writes = [asyncio.create_task(store.put(b"%d" % n, b"value")) for n in range(4)]
            await asyncio.sleep(0)
            writes[1].cancel()
            writes[2].cancel()
            begun = time.monotonic()
            await asyncio.gather(*(other.put(b"%d" % n, b"") for n in range(100)))
            assert time.monotonic() - begun < 0.9
            answers = await asyncio.gather(*writes, return_exceptions=True)
            assert isinstance(answers[0], LOST) and isinstance(answers[3], LOST), answers
            assert isinstance(answers[1], asyncio.CancelledError), answers
            with pytest.raises(saker.UnreachableError):
                await store.get(b"key")
            network.state = "pass"
            for _ in range(300):
                try:
                    assert await store.get(b"key") == b"old"
                    break
                except saker.UnreachableError:
                    await asyncio.sleep(0.05)
            await store.put(b"key", b"new")
            assert await store.get(b"key") == b"new"

    with a_target(path) as target, a_network(target.address) as network:
        asyncio.run(work(behind(network, target), network))


@needs_a_server
def test_a_target_that_is_killed(path: Path) -> None:
    async def write(url: str, target: Target) -> int:
        store = await aio.open(url)
        writes = [store.put(b"%d" % n, b"value %d" % n) for n in range(400)]
        acknowledged = 0
        for n, write in enumerate(writes):
            if n == 100:
                target.kill()
            try:
                await write
                acknowledged += 1
            except LOST:
                pass
        with pytest.raises(saker.SakerError):
            await store.get(b"0")
        try:
            await store.close()
        except saker.SakerError:
            pass
        return acknowledged

    with a_target(path) as target:
        acknowledged = asyncio.run(write(f"{target.url}?timeout=2&reconnect=0", target))
    assert acknowledged >= 100
    with saker.open(f"file:{path}") as store:
        assert all(store[b"%d" % n] == b"value %d" % n for n in range(acknowledged))


def test_a_slow_device(tmp_path: Path) -> None:
    """A call waits, which is no failure; whoever waits for a limited time is told by asyncio, and the calls are carried out all the same."""
    saker.create(tmp_path / "disk.img", "16MiB", profile="tiny")

    async def work(url: str) -> None:
        async with await aio.open(url) as store:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(asyncio.gather(*(store.put(b"%d" % n, VALUE) for n in range(24))), 0.02)
            assert await store.get(b"23") == VALUE

    for url in (f"mem:?size=16MiB&profile=tiny&{SLOW}", f"file:{tmp_path}/disk.img?{SLOW}"):
        asyncio.run(work(url))
        with saker.open(url) as store:
            begun = time.monotonic()
            store.put_many((b"%d" % n, VALUE) for n in range(24))
            assert time.monotonic() - begun >= 0.03
