# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A storage backend of SGLang's HiCache: pages of attention state on a device of Saker.

SGLang loads it by name (``--hicache-storage-backend dynamic``); docs/kv-caches.md says how. The interface is that of ``HiCacheStorage`` in
sgl-project/sglang, python/sglang/srt/mem_cache/hicache_storage.py.

A page is kept in parts: one for each of its buffers, in pieces that a value holds. The name of a part is a digest of 16 bytes, so that
keys may have any length. Parts are read into and written from the host pool's own memory.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from sglang.srt.mem_cache.hicache_storage import (
    HiCacheStorage,
    PoolHitPolicy,
    PoolName,
    PoolTransferResult,
)

import saker

logger = logging.getLogger(__name__)

#: Bytes of a piece at most: a value has up to 2 MiB.
PIECE_BYTES = 1 << 20

#: Memory of a buffer: address and bytes.
Span = tuple[int, int]


def _rank_label(config: Any) -> str:
    """What tells the pages of one rank and model from those of others."""
    parts = ("model_name", "tp_rank", "tp_size", "pp_rank", "pp_size", "attn_cp_rank", "attn_cp_size", "dcp_rank", "dcp_size")
    return "|".join(str(getattr(config, part, "")) for part in parts)


def _span(tensor: Any) -> Span:
    """The memory of a tensor."""
    if not tensor.is_contiguous():
        raise ValueError("a page is not contiguous")
    return tensor.data_ptr(), tensor.numel() * tensor.element_size()


def _spans(target: Any, sizes: Any) -> list[Span]:
    """The memory that a call names: a tensor, or addresses with their sizes."""
    if hasattr(target, "data_ptr"):
        return [_span(target)]
    if isinstance(target, int):
        target, sizes = [target], [sizes]
    return list(zip(target, sizes, strict=True))


def _memory(address: int, size: int) -> Any:
    return (ctypes.c_char * size).from_address(address)


class SakerStorage(HiCacheStorage):  # type: ignore[misc]
    """Pages of a rank, on a device of its own.

    ``extra_config`` has ``url`` (with ``{rank}`` for the rank's number), and may have ``size`` and ``profile`` (an image that is not there
    is made), ``bytes_max``, ``order`` and ``ttl`` (see ``saker.KvCache``), and ``interface_v1: 1`` (pages without a copy).
    """

    def __init__(self, storage_config: Any, kwargs: Any = None) -> None:
        config = dict(storage_config.extra_config or {})
        if storage_config.is_mla_model and storage_config.tp_size > 1:
            raise ValueError("pages of an MLA model are shared by its ranks, and a rank has a device of its own: use tp_size=1")
        url = self._url(config, storage_config)
        self._label = _rank_label(storage_config)
        self._has_v1 = bool(config.get("interface_v1", 0))
        options = {name: config[name] for name in ("bytes_max", "order", "ttl") if config.get(name) is not None}
        self.cache = saker.KvCache(url, **options)

    @staticmethod
    def _url(config: dict[str, Any], storage_config: Any) -> str:
        if not config.get("url"):
            raise ValueError('extra_config needs "url", such as "file:/data/kv-{rank}.img"')
        rank = storage_config.pp_rank * storage_config.tp_size + storage_config.tp_rank
        url = str(config["url"]).replace("{rank}", str(rank))
        # Options begin at the first "?" that is not written twice.
        place = re.match(r"(?:[^?]|\?\?)*", url.removeprefix("file:"))
        path = (place.group() if place else "").replace("??", "?")
        if url.startswith("file:") and config.get("size") and not os.path.exists(path):
            saker.create(path, str(config["size"]), profile=str(config.get("profile", "default")))
        return url

    # Names and parts.

    def _name(self, key: str, pool: str, part: int, piece: int) -> bytes:
        whole = f"{self._label}|{pool}|{part}|{piece}|{key}"
        return hashlib.blake2b(whole.encode(), digest_size=16).digest()

    def _pieces(self, key: str, pool: str, spans: Iterable[Span]) -> list[tuple[bytes, Span]]:
        """Names and memory of a page."""
        return [
            (self._name(key, pool, part, at // PIECE_BYTES), (address + at, min(PIECE_BYTES, size - at)))
            for part, (address, size) in enumerate(spans)
            for at in range(0, max(size, 1), PIECE_BYTES)
        ]

    def _read(self, pieces: Sequence[tuple[bytes, Span]]) -> bool:
        """Reads a page. What is there with another length counts as missing."""
        names = [name for name, _ in pieces]
        lengths = self.cache.get_many_into(names, [_memory(*span) for _, span in pieces])
        return all(length == size for length, (_, (_, size)) in zip(lengths, pieces, strict=True))

    def _write(self, pieces: Sequence[tuple[bytes, Span]]) -> bool:
        """Stores a page. Its first piece is the last one, so that a page that is found is whole after a restart."""
        backwards = pieces[::-1]
        self.cache.put_many_if_absent([name for name, _ in backwards], [_memory(*span) for _, span in backwards])
        return True

    def _guarded(self, work: Any, *args: Any) -> bool:
        """A cache that fails is a miss: the server goes on."""
        try:
            return bool(work(*args))
        except saker.SakerError as error:
            logger.warning("saker: %s", error)
            return False

    # One page, and lists of pages, by tensors.

    def get(self, key: str, target_location: Any = None, target_sizes: Any = None) -> Any:
        if target_location is None:
            return self._get_new(key)
        pieces = self._pieces(key, "", _spans(target_location, target_sizes))
        return target_location if self._guarded(self._read, pieces) else None

    def _get_new(self, key: str) -> Any:
        """The bytes of a page of unknown length: of one piece, for how many others there are is not known."""
        try:
            page = self.cache.get(self._name(key, "", 0, 0))
        except saker.SakerError as error:
            logger.warning("saker: %s", error)
            return None
        if page is None or len(page) >= PIECE_BYTES:
            return None
        return torch.frombuffer(bytearray(page), dtype=torch.uint8)

    def batch_get(self, keys: list[str], target_locations: Any = None, target_sizes: Any = None) -> list[Any]:
        locations = target_locations if target_locations is not None else [None] * len(keys)
        sizes = target_sizes if target_sizes is not None else [None] * len(keys)
        return [self.get(*one) for one in zip(keys, locations, sizes, strict=True)]

    def set(self, key: str, value: Any = None, target_location: Any = None, target_sizes: Any = None) -> bool:
        source = value.contiguous() if value is not None else target_location
        return self._guarded(self._write, self._pieces(key, "", _spans(source, target_sizes)))

    def batch_set(
        self, keys: list[str], values: Any = None, target_locations: Any = None, target_sizes: Any = None
    ) -> bool:
        def one(n: int) -> bool:
            pick = [None if all_ is None else all_[n] for all_ in (values, target_locations, target_sizes)]
            return self.set(keys[n], *pick)

        return all(one(n) for n in range(len(keys)))

    def exists(self, key: str) -> bool:
        return self.batch_exists([key]) == 1

    def batch_exists(self, keys: list[str], extra_info: Any = None) -> int:
        """How many pages are there from the first on."""
        pool = getattr(self, "mem_pool_host", None)
        if pool is not None and getattr(pool, "kv_buffer", pool) is None:
            return len(keys)  # the pages of this pool are all in others
        there = self._pages_there(keys, "", self._sizes(pool))
        return there.index(False) if False in there else len(there)

    def _sizes(self, pool: Any) -> list[int]:
        """Bytes of the buffers of a page. Of a pool that is not known yet a page has the first piece at least."""
        if pool is None:
            return [0]
        _, sizes = pool.get_page_buffer_meta(torch.arange(pool.page_size or 1))
        return list(sizes) if self._has_v1 else [sum(sizes)]

    def _pages_there(self, keys: Sequence[str], pool: str, sizes: Sequence[int]) -> list[bool]:
        names = [[name for name, _ in self._pieces(key, pool, [(0, size) for size in sizes])] for key in keys]
        try:
            there = iter(self.cache.exists([name for page in names for name in page]))
        except saker.SakerError as error:
            logger.warning("saker: %s", error)
            return [False] * len(keys)
        return [all([next(there) for _ in page]) for page in names]

    # Pages in the memory of a host pool.

    def _pool_pages(self, pool: Any, keys: list[str], indices: Any) -> list[list[Span]]:
        """The memory of each page."""
        if len(indices) != len(keys) * (pool.page_size or 1):
            raise ValueError(f"{len(keys)} pages and {len(indices)} indices of pages of {pool.page_size}")
        addresses, sizes = pool.get_page_buffer_meta(indices)
        spans = list(zip(addresses, sizes, strict=True))
        each = len(spans) // len(keys) if keys else 0
        return [spans[n * each : (n + 1) * each] for n in range(len(keys))]

    def _over(self, work: Any, pool: Any, name: str, keys: list[str], indices: Any) -> list[bool]:
        pages = self._pool_pages(pool, keys, indices)
        return [
            self._guarded(work, self._pieces(key, name, page)) for key, page in zip(keys, pages, strict=True)
        ]

    def batch_get_v1(self, keys: list[str], host_indices: Any, extra_info: Any = None) -> list[bool]:
        if self.mem_pool_host.kv_buffer is None:
            return [True] * len(keys)
        return self._over(self._read, self.mem_pool_host, "", keys, host_indices)

    def batch_set_v1(self, keys: list[str], host_indices: Any, extra_info: Any = None) -> list[bool]:
        if self.mem_pool_host.kv_buffer is None:
            return [True] * len(keys)
        return self._over(self._write, self.mem_pool_host, "", keys, host_indices)

    # Several pools.

    def _over_pools(self, work: Any, transfers: Any) -> dict[str, list[bool]]:
        done = {}
        for transfer in transfers:
            pool, name = self.registered_pools[transfer.name], self._pool_label(transfer.name)
            done[transfer.name] = self._over(work, pool, name, transfer.keys or [], transfer.host_indices)
        return done

    @staticmethod
    def _pool_label(name: Any) -> str:
        """The pages of the pool of keys and values are those of the calls that know one pool."""
        return "" if name == PoolName.KV else str(name)

    def batch_get_v2(self, transfers: Any, extra_info: Any = None) -> dict[str, list[bool]]:
        return self._over_pools(self._read, transfers)

    def batch_set_v2(self, transfers: Any, extra_info: Any = None) -> dict[str, list[bool]]:
        return self._over_pools(self._write, transfers)

    def batch_exists_v2(self, keys: list[str], pool_transfers: Any = None, extra_info: Any = None) -> Any:
        pages = self.batch_exists(keys, extra_info)
        hits = {PoolName.KV: pages} if pages else {}
        restorable = list(range(1, pages + 1))
        for transfer in pool_transfers or []:
            if not restorable:
                break
            stops = self._stops(transfer, keys[:pages])
            if stops:
                hits[transfer.name] = max(stops)
            restorable = [stop for stop in restorable if stop in stops]
        return PoolTransferResult(restorable[-1] if restorable else 0, hits, restorable)

    def _stops(self, transfer: Any, keys: list[str]) -> frozenset[int]:
        """Lengths of a prefix for which a pool has what it needs."""
        pool = self.registered_pools[transfer.name]
        _, sizes = pool.get_page_buffer_meta(torch.arange(pool.page_size or 1))
        there = self._pages_there(keys, self._pool_label(transfer.name), list(sizes))
        if transfer.hit_policy == PoolHitPolicy.ALL_PAGES:
            whole = there.index(False) if False in there else len(there)
            return frozenset(range(1, whole + 1))
        if transfer.hit_policy == PoolHitPolicy.TRAILING_PAGES:
            last = max(1, len(transfer.keys or []))
            stops = range(1, len(there) + 1)
            return frozenset(stop for stop in stops if all(there[max(0, stop - last) : stop]))
        raise ValueError(f"pools of policy {transfer.hit_policy} are not supported")

    def clear(self) -> None:
        self.cache.clear()

    def close(self) -> None:
        self.cache.close()
