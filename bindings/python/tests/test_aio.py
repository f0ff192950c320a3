# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The asyncio twin."""

from __future__ import annotations

import asyncio
import inspect
import pickle

import pytest
import saker
from saker import aio


def test_calls_scans_and_transactions(engine: str) -> None:
    async def work() -> None:
        async with await aio.open(f"mem:?size=64MiB&profile=tiny&engine={engine}") as store:
            await asyncio.gather(*(store.put(b"%d" % n, b"value %d" % n) for n in range(600)))
            assert await store.get(b"7") == b"value 7" and await store.get(b"none") is None
            buffer = bytearray(8)
            assert await store.get_into(b"17", buffer) == 8 and buffer == b"value 17"
            assert await store.multi_get([b"1", b"none"]) == [b"value 1", None]
            assert await store.multi_exists([b"1", b"none"]) == [True, False]
            assert len([pair async for pair in store.scan()]) == 600
            assert len([key async for key in store.scan_keys(prefix=b"59")]) == 11
            async with store.scan() as scan:
                await anext(scan)
            with pytest.raises(StopAsyncIteration):
                await anext(scan)
            batch = store.batch()
            batch.put(b"in a batch", b"1")
            await store.write(batch)
            assert await store.exists(b"in a batch") and await store.delete(b"in a batch")
            await store.clear()
            assert [key async for key in store.scan_keys()] == []
        with pytest.raises(saker.ClosedError):
            await store.get(b"key")
        await store.close()
        assert store.closed

    asyncio.run(work())


def test_tasks_count() -> None:
    async def work() -> None:
        async with await aio.open("mem:?size=64MiB&profile=tiny") as store:
            await store.put(b"counter", b"0")

            async def body(txn: aio.Transaction) -> None:
                number = int(await txn.get(b"counter") or b"0")
                await asyncio.sleep(0)
                await txn.put(b"counter", b"%d" % (number + 1))

            await asyncio.gather(*(store.transact(body) for _ in range(50)))
            assert await store.get(b"counter") == b"50"
            with pytest.raises(saker.UnmetError):
                async with store.txn() as txn:
                    await txn.require_absent(b"counter")
                    await txn.put(b"x", b"")
            assert not await store.exists(b"x")
            for is_done_now in (True, False):
                async with store.txn() as txn:
                    await txn.put(b"y", b"")
                    assert await txn.commit_as(bytes(16), 1) is is_done_now
            assert await store.transaction_outcome(bytes(16), 1) == "done"

    asyncio.run(work())


def test_the_loop_does_not_wait() -> None:
    """While a device with emulated latency is waited for, other tasks have their turns."""

    async def work() -> None:
        async with await aio.open("mem:?size=512MiB&timing=real") as store:
            await store.put_many({b"%d" % n: bytes(4096) for n in range(300)})
            await store.flush()
            gets = asyncio.gather(*(store.get(b"%d" % n) for n in range(300)))
            turns = 0
            while not gets.done():
                await asyncio.sleep(0)
                turns += 1
            assert await gets == [bytes(4096)] * 300
            assert turns > 100

    asyncio.run(work())


def test_a_cancelled_task_leaves_the_device_in_order() -> None:
    """It stops waiting; its call is carried out all the same, in its turn."""

    async def work() -> None:
        async with await aio.open("mem:?size=64MiB&profile=tiny") as store:
            tasks = [asyncio.create_task(store.put(b"%d" % n, b"value")) for n in range(200)]
            later = [asyncio.create_task(store.put(b"last", b"%d" % n)) for n in range(10)]
            await asyncio.sleep(0)
            for task in tasks[::2] + later[5:]:
                task.cancel()
            answers = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(answer, asyncio.CancelledError) for answer in answers[::2])
            assert await store.multi_exists([b"%d" % n for n in range(200)]) == [True] * 200
            assert await store.get(b"last") == b"9"

    asyncio.run(work())


def test_a_loop_that_ends_before_its_calls() -> None:
    """What was asked for takes place, and nobody is told of it."""
    opened: list[aio.Store] = []

    async def work() -> None:
        store = await aio.open("mem:?size=64MiB&profile=tiny")
        opened.append(store)
        for n in range(500):
            asyncio.create_task(store.put(b"%d" % n, bytes(1000)))
        await asyncio.sleep(0)

    async def look() -> None:
        async with opened[0] as store:
            assert len([key async for key in store.scan_keys()]) == 500

    asyncio.run(work())
    asyncio.run(look())


def test_a_cache() -> None:
    async def work() -> None:
        async with await aio.open_cache("mem:?size=64MiB&profile=tiny", bytes_max=100_000) as cache:
            for n in range(10):
                assert await cache.put_if_absent(b"%d" % n, bytes(20_000))
            assert await cache.prefix([b"9", b"8", b"0"]) == 2 and await cache.exists([b"0"]) == [False]
            assert (await cache.stats())["evicted"] == 6
            buffers = [bytearray(20_000), bytearray(20_000)]
            assert await cache.get_many_into([b"9", b"0"], buffers) == [20_000, None]
            with pytest.raises(TypeError):
                pickle.dumps(cache)

    asyncio.run(work())


def test_the_twin_has_all_calls() -> None:
    """Whatever a store and a cache can do, the twins can, too."""
    left_out = {
        "settings", "set_setting", "stats", "profile", "url", "bytes", "closed",
        "keys", "items", "values", "pop", "popitem", "setdefault", "update",
    }  # fmt: skip
    for one, twin in ((saker.Store, aio.Store), (saker.KvCache, aio.KvCache)):
        calls = {name for name, _ in inspect.getmembers(one) if not name.startswith("_")}
        assert calls - left_out <= set(dir(twin)), one
