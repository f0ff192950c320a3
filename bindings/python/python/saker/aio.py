# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The same for ``asyncio``: every call is awaited, and the event loop never waits for a device.

A device has a thread, which carries its calls out in the order in which they were made. A task that is cancelled stops waiting; its
call is carried out all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import saker
from saker import _saker
from saker._store import RUNS_MAX
from saker.errors import ClosedError, ConflictError

if TYPE_CHECKING:
    from typing_extensions import Buffer

_T = TypeVar("_T")

#: Pairs of a scan that come to the event loop at a time.
_TOGETHER = 256


def _tell(
    loop: asyncio.AbstractEventLoop, answer: asyncio.Future[Any], result: Any, error: BaseException | None
) -> None:
    """Answers from the device's thread, if there is still somebody who waits."""

    def tell() -> None:
        if answer.cancelled():
            return
        if error is None:
            answer.set_result(result)
        else:
            answer.set_exception(error)

    try:
        loop.call_soon_threadsafe(tell)
    except RuntimeError:
        pass  # the loop has ended


class _Lane:
    """The thread of a device."""

    def __init__(self, name: str) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def run(self, call: Callable[..., _T], *args: Any, **named: Any) -> _T:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[_T] = loop.create_future()

        # A future of the pool would take the call back when its task is cancelled before its turn.
        def work() -> None:
            try:
                result = call(*args, **named)
            except BaseException as error:  # noqa: BLE001
                _tell(loop, answer, None, error)
            else:
                _tell(loop, answer, result, None)

        try:
            self._pool.submit(work)
        except RuntimeError as error:
            raise ClosedError("the device is closed") from error
        return await answer

    def end(self) -> None:
        self._pool.shutdown(wait=False)


class _Device(Generic[_T]):
    """What a store and a cache have in common."""

    def __init__(self, inner: _T, lane: _Lane) -> None:
        self._inner = inner
        self._lane = lane

    async def close(self) -> None:
        """Closes it in order. Closing it again does nothing."""
        try:
            await self._lane.run(self._inner.close)  # type: ignore[attr-defined]
        except ClosedError:
            pass
        finally:
            self._lane.end()

    @property
    def closed(self) -> bool:
        return bool(self._inner.closed)  # type: ignore[attr-defined]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_raised: object) -> None:
        await self.close()

    def __reduce__(self) -> str:
        raise TypeError("a device cannot be pickled: it is open in this process; pass the URL")


class Scan(AsyncIterator[_T]):
    """An iterator over a device: it comes a batch at a time."""

    def __init__(self, lane: _Lane, begin: Callable[[], Any]) -> None:
        self._lane = lane
        self._begin = begin
        self._scan: Any = None
        self._ahead: list[_T] = []

    def __aiter__(self) -> Self:
        return self

    def _more(self) -> list[_T]:
        if self._scan is None:
            self._scan = self._begin()
        return list(islice(self._scan, _TOGETHER))

    async def __anext__(self) -> _T:
        if not self._ahead:
            self._ahead = (await self._lane.run(self._more))[::-1]
        if not self._ahead:
            raise StopAsyncIteration
        return self._ahead.pop()

    async def aclose(self) -> None:
        """Ends it: until then the device keeps what it sees."""
        self._ahead = []
        if self._scan is not None:
            await self._lane.run(self._scan.close)
        self._begin = lambda: iter(())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_raised: object) -> None:
        await self.aclose()


class Transaction:
    """A transaction: see ``saker.Transaction``."""

    def __init__(self, lane: _Lane, begin: Callable[[], _saker.Transaction]) -> None:
        self._lane = lane
        self._begin = begin
        self._txn: _saker.Transaction | None = None

    async def _run(self, name: str, *args: Any) -> Any:
        if self._txn is None:
            self._txn = await self._lane.run(self._begin)
        return await self._lane.run(getattr(self._txn, name), *args)

    async def get(self, key: Buffer) -> bytes | None:
        found: bytes | None = await self._run("get", key)
        return found

    async def exists(self, key: Buffer) -> bool:
        return bool(await self._run("exists", key))

    async def put(self, key: Buffer, value: Any) -> None:
        await self._run("put", key, value)

    async def delete(self, key: Buffer) -> bool:
        return bool(await self._run("delete", key))

    async def require_absent(self, key: Buffer) -> None:
        await self._run("require_absent", key)

    async def require_present(self, key: Buffer) -> None:
        await self._run("require_present", key)

    async def require_value(self, key: Buffer, value: Buffer) -> None:
        await self._run("require_value", key, value)

    async def commit(self) -> None:
        await self._run("commit")

    async def commit_through(self) -> None:
        await self._run("commit_through")

    async def commit_as(self, host: Buffer, number: int) -> bool:
        return bool(await self._run("commit_as", host, number))

    async def abort(self) -> None:
        await self._run("abort")

    async def __aenter__(self) -> Self:
        self._txn = await self._lane.run(self._begin)
        return self

    async def __aexit__(self, raised: object, *_rest: object) -> None:
        if raised is not None:
            await self.abort()
        elif self._txn is not None and not self._txn.ended:
            await self.commit()


class Store(_Device[saker.Store]):
    """A key-value SSD: see ``saker.Store``."""

    async def put(self, key: Buffer, value: Any) -> None:
        await self._lane.run(self._inner.put, key, value)

    async def put_if_absent(self, key: Buffer, value: Any) -> bool:
        return await self._lane.run(self._inner.put_if_absent, key, value)

    async def get(self, key: Buffer) -> bytes | None:
        return await self._lane.run(self._inner.get, key)

    async def get_into(self, key: Buffer, buffer: Any) -> int | None:
        return await self._lane.run(self._inner.get_into, key, buffer)

    async def delete(self, key: Buffer) -> bool:
        return await self._lane.run(self._inner.delete, key)

    async def exists(self, key: Buffer) -> bool:
        return await self._lane.run(self._inner.exists, key)

    async def multi_get(self, keys: Iterable[Buffer]) -> list[bytes | None]:
        return await self._lane.run(self._inner.multi_get, list(keys))

    async def multi_exists(self, keys: Iterable[Buffer]) -> list[bool]:
        return await self._lane.run(self._inner.multi_exists, list(keys))

    async def put_many(self, pairs: Mapping[Any, Any] | Iterable[tuple[Buffer, Any]]) -> None:
        await self._lane.run(self._inner.put_many, list(pairs.items() if isinstance(pairs, Mapping) else pairs))

    async def write(self, batch: _saker.Batch) -> None:
        """Carries out a batch that :meth:`batch` has begun."""
        await self._lane.run(batch.commit)

    def batch(self, *, atomic: bool = False) -> _saker.Batch:
        """Begins a batch, which is filled without waiting; :meth:`write` carries it out."""
        return self._inner.batch(atomic=atomic)

    def txn(self) -> Transaction:
        """A transaction, as an asynchronous context."""
        return Transaction(self._lane, self._inner.txn)

    async def transaction_outcome(self, host: Buffer, number: int) -> str:
        """What became of the transaction of an ID: ``done``, ``not done`` or ``open``."""
        return await self._lane.run(self._inner.transaction_outcome, host, number)

    async def transact(self, body: Callable[[Transaction], Awaitable[_T]]) -> _T:
        """Runs ``body`` in a transaction and commits it, again and again while others change what it has read."""
        for _ in range(RUNS_MAX - 1):
            try:
                return await self._attempt(body)
            except ConflictError:
                pass
        return await self._attempt(body)

    async def _attempt(self, body: Callable[[Transaction], Awaitable[_T]]) -> _T:
        async with self.txn() as txn:
            return await body(txn)

    def scan(self, start: Buffer = b"", stop: Buffer = b"", **wish: Any) -> Scan[tuple[bytes, bytes]]:
        return Scan(self._lane, lambda: self._inner.scan(start, stop, **wish))

    def scan_keys(self, start: Buffer = b"", stop: Buffer = b"", **wish: Any) -> Scan[bytes]:
        return Scan(self._lane, lambda: self._inner.scan_keys(start, stop, **wish))

    async def flush(self) -> None:
        await self._lane.run(self._inner.flush)

    async def clear(self) -> None:
        await self._lane.run(self._inner.clear)


class KvCache(_Device[_saker.KvCache]):
    """A device as a cache: see ``saker.KvCache``."""

    async def put_if_absent(self, key: Buffer, value: Any) -> bool:
        return await self._lane.run(self._inner.put_if_absent, key, value)

    async def get(self, key: Buffer) -> bytes | None:
        return await self._lane.run(self._inner.get, key)

    async def get_into(self, key: Buffer, buffer: Any) -> int | None:
        return await self._lane.run(self._inner.get_into, key, buffer)

    async def get_many_into(self, keys: Iterable[Buffer], buffers: Iterable[Any]) -> list[int | None]:
        return await self._lane.run(self._inner.get_many_into, list(keys), list(buffers))

    async def put_many_if_absent(self, keys: Iterable[Buffer], values: Iterable[Any]) -> list[bool]:
        return await self._lane.run(self._inner.put_many_if_absent, list(keys), list(values))

    async def exists(self, keys: Iterable[Buffer]) -> list[bool]:
        return await self._lane.run(self._inner.exists, list(keys))

    async def prefix(self, keys: Iterable[Buffer]) -> int:
        return await self._lane.run(self._inner.prefix, list(keys))

    async def delete(self, key: Buffer) -> bool:
        return await self._lane.run(self._inner.delete, key)

    async def expire(self) -> None:
        await self._lane.run(self._inner.expire)

    async def clear(self) -> None:
        await self._lane.run(self._inner.clear)

    async def stats(self) -> dict[str, int]:
        return await self._lane.run(self._inner.stats)


async def open(url: str) -> Store:  # noqa: A001
    """Opens the device of a URL, on a thread of its own."""
    lane = _Lane("saker")
    return Store(await lane.run(saker.open, url), lane)


async def open_cache(url: str, **options: Any) -> KvCache:
    """Opens a cache: see ``saker.KvCache``."""
    lane = _Lane("saker")
    return KvCache(await lane.run(_saker.KvCache, url, **options), lane)
