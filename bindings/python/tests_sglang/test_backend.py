# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Conformance of the backend to SGLang's `HiCacheStorage`, loaded by SGLang's own factory as `dynamic`."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import saker
import torch
from pools import Anchor, LayerPool, Pool
from sglang.srt.mem_cache import hicache_storage as base
from sglang.srt.mem_cache.storage.backend_factory import StorageBackendFactory

MEMORY = "mem:?size=64MiB&profile=tiny"
LARGE = "mem:?size=1GiB"


def config(url: str = MEMORY, **changes: Any) -> base.HiCacheStorageConfig:
    extra = {
        "backend_name": "saker",
        "module_path": "saker.sglang",
        "class_name": "SakerStorage",
        "interface_v1": 1,
        "url": url,
        **changes.pop("extra", {}),
    }
    values = dict(
        tp_rank=0, tp_size=1, pp_rank=0, pp_size=1, attn_cp_rank=0, attn_cp_size=1, is_mla_model=False,
        enable_storage_metrics=False, is_page_first_layout=True, model_name="some/model", extra_config=extra,
    )  # fmt: skip
    return base.HiCacheStorageConfig(**{**values, **changes})


def backend(pool: Any = None, url: str = MEMORY, **changes: Any) -> Any:
    storage = StorageBackendFactory.create_backend("dynamic", config(url, **changes), pool)
    if pool is not None:
        storage.register_mem_pool_host(pool)
        storage.on_host_pools_registered()
    return storage


def keys(count: int, start: int = 0) -> list[str]:
    """Hashes as SGLang's radix tree makes them: 64 hexadecimal digits."""
    return [f"{n:064x}" for n in range(start, start + count)]


def test_it_is_a_storage_with_every_call() -> None:
    storage = backend()
    assert isinstance(storage, base.HiCacheStorage)
    for name, call in inspect.getmembers(base.HiCacheStorage, inspect.isfunction):
        if name.startswith("_"):
            continue
        ours = inspect.signature(getattr(type(storage), name)).parameters
        theirs = inspect.signature(call).parameters
        assert list(ours) == list(theirs), name
        for parameter in theirs.values():
            assert ours[parameter.name].default is parameter.default or parameter.default is None, (name, parameter)


def test_single_pages() -> None:
    storage = backend()
    page = torch.frombuffer(bytes(range(200)), torch.uint8)
    assert not storage.exists("key") and storage.get("key", torch.zeros(100)) is None
    assert storage.set("key", page) and storage.exists("key")
    into = torch.zeros(100)
    assert storage.get("key", into) is into and into.array.tobytes() == bytes(range(200))
    assert storage.get("key").array.tobytes() == bytes(range(200))
    assert storage.set("key", page), "what is there is a success"
    assert storage.get("key", torch.zeros(50)) is None, "another length is another page"
    assert storage.set("address", target_location=page.data_ptr(), target_sizes=200)
    buffer = np.zeros(200, "u1")
    assert storage.get("address", buffer.ctypes.data, 200) is not None and bytes(buffer) == bytes(range(200))


def test_lists_of_pages() -> None:
    storage = backend()
    names = keys(10)
    pages = [torch.frombuffer(bytes([n]) * 1000, torch.uint8) for n in range(10)]
    assert storage.batch_set(names, pages)
    assert storage.batch_exists([*names, "none", *names]) == 10
    assert storage.batch_exists(["none", *names]) == 0
    into = [torch.zeros(500) for _ in range(11)]
    got = storage.batch_get([*names, "none"], into)
    assert [page.array.tobytes()[0] for page in got[:10]] == list(range(10)) and got[10] is None
    storage.clear()
    assert storage.batch_exists(names) == 0


@pytest.mark.parametrize("kind", [Pool, LayerPool])
def test_pages_of_a_pool_without_a_copy(kind: type[Pool]) -> None:
    pool = kind(pages=32)
    storage = backend(pool)
    for page in range(16):
        pool.fill(page, seed=page)
    names = keys(16)
    assert storage.batch_set_v1(names, pool.indices(list(range(16)))) == [True] * 16
    assert storage.batch_exists([*names, *keys(1, 99)]) == 16
    # They come back to other places of the pool.
    places = list(range(31, 15, -1))
    assert storage.batch_get_v1(names, pool.indices(places)) == [True] * 16
    assert all(pool.holds(place, seed=page) for page, place in enumerate(places))
    assert storage.batch_get_v1([names[0], "none"], pool.indices([20, 21])) == [True, False]
    assert pool.holds(20, seed=0) and pool.holds(21, seed=10), "a miss changes nothing"
    with pytest.raises(ValueError, match="indices"):
        storage.batch_get_v1(names, pool.indices([1]))


def test_pages_longer_than_a_value() -> None:
    """A page of 12 MiB: 6 MiB of keys and 6 MiB of values, more than a value of the device has."""
    pool = Pool(pages=4, page_size=64, layers=48, heads=8, dim=128)
    assert pool.page_bytes == 6 << 20
    storage = backend(pool, LARGE)
    for page in range(2):
        pool.fill(page, seed=page)
    assert storage.batch_set_v1(keys(2), pool.indices([0, 1])) == [True, True]
    assert storage.batch_get_v1(keys(2), pool.indices([3, 2])) == [True, True]
    assert pool.holds(3, seed=0) and pool.holds(2, seed=1)
    # A piece goes: the page is not found, and is not read half.
    names = [name for name, _ in storage._pieces(keys(1)[0], "", [(0, pool.page_bytes)] * 2)]
    assert len(names) == 12 and storage.cache.delete(names[7])
    assert storage.batch_exists(keys(2)) == 0 and storage.batch_get_v1(keys(2), pool.indices([3, 2])) == [False, True]


def test_the_flat_interface_over_a_pool() -> None:
    """As the controller does it without `interface_v1`."""
    pool = Pool(pages=8)
    storage = backend(pool, extra={"interface_v1": 0})
    pool.fill(1, seed=1)
    assert storage.batch_set(keys(1), [pool.get_data_page(pool.page_size)])
    assert storage.batch_exists(keys(2)) == 1
    (page,) = storage.batch_get(keys(1), [pool.get_dummy_flat_data_page()])
    assert page.array.tobytes() == pool.rows(1).tobytes()


def test_ranks_and_models_are_apart(tmp_path: Path) -> None:
    """The same keys of another rank or model are others, on one device too."""
    url = f"file:{tmp_path}/kv-{{rank}}.img"
    first = backend(url=url, extra={"size": "64MiB", "profile": "tiny"})
    second = backend(url=url, tp_rank=1, tp_size=2, extra={"size": "64MiB", "profile": "tiny"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kv-0.img", "kv-1.img"]
    page = torch.frombuffer(b"page", torch.uint8)
    assert first.set("key", page) and not second.exists("key")
    first.close()
    other = backend(url=url, model_name="other/model")
    assert not other.exists("key")
    other.close()
    assert backend(url=url).exists("key")
    with pytest.raises(ValueError, match="MLA"):
        backend(is_mla_model=True, tp_size=2)


def test_a_full_device_evicts_the_oldest() -> None:
    pool = Pool(pages=2, page_size=16, layers=8, heads=2, dim=16)  # 8 KiB of keys, 8 KiB of values
    storage = backend(pool)
    names = keys(8000)
    for n, name in enumerate(names):
        pool.fill(0, seed=n)
        assert storage.batch_set_v1([name], pool.indices([0])) == [True]
    assert storage.cache.stats()["evicted"] > 1000
    assert storage.batch_exists(names[-100:]) == 100 and not storage.exists(names[0])
    for n in range(7900, 8000):
        assert storage.batch_get_v1([names[n]], pool.indices([1])) == [True] and pool.holds(1, seed=n)


def test_a_restart_keeps_pages(tmp_path: Path) -> None:
    url, pool = f"file:{tmp_path}/kv.img", Pool(pages=64)
    made = {"size": "64MiB", "profile": "tiny"}
    storage = backend(pool, url, extra=made)
    for page in range(32):
        pool.fill(page, seed=page)
    assert all(storage.batch_set_v1(keys(32), pool.indices(list(range(32)))))
    del storage  # as if killed
    storage = backend(pool, url, extra=made)
    assert storage.batch_exists(keys(33)) == 32
    assert all(storage.batch_get_v1(keys(32), pool.indices(list(range(32, 64)))))
    assert all(pool.holds(32 + page, seed=page) for page in range(32))
    storage.close()


def transfer(name: Any, pool: Pool, names: list[str], pages: list[int], policy: Any = None) -> base.PoolTransfer:
    policy = policy or base.PoolHitPolicy.ALL_PAGES
    return base.PoolTransfer(name, host_indices=pool.indices(pages), keys=names, hit_policy=policy)


def test_several_pools() -> None:
    pools = {base.PoolName.KV: Pool(pages=32), base.PoolName.SWA: Pool(pages=32, layers=1), base.PoolName.DRAFT: Pool(pages=32)}
    storage = backend(pools[base.PoolName.KV])
    for name, pool in pools.items():
        storage.register_mem_host_pool_v2(pool, name)
        for page in range(10):
            pool.fill(page, seed=page)
    names, pages = keys(10), list(range(10))
    stored = storage.batch_set_v2([transfer(name, pool, names, pages) for name, pool in pools.items()])
    assert stored == {name: [True] * 10 for name in pools}
    back = list(range(20, 30))
    read = storage.batch_get_v2([transfer(name, pool, names, back) for name, pool in pools.items()])
    assert read == {name: [True] * 10 for name in pools}
    assert all(pool.holds(20 + page, seed=page) for pool in pools.values() for page in range(10))
    # The first interface sees the pages of the pool of keys and values.
    assert storage.batch_exists(names) == 10

    swa, draft = base.PoolName.SWA, base.PoolName.DRAFT
    trailing = transfer(swa, pools[swa], names[-2:], [8, 9], base.PoolHitPolicy.TRAILING_PAGES)
    everything = transfer(draft, pools[draft], names, pages)
    found = storage.batch_exists_v2([*names, "none"], [trailing, everything])
    assert (found.kv_hit_pages, found.extra_pool_hit_pages[swa], found.extra_pool_hit_pages[draft]) == (10, 10, 10)

    def forget(name: Any, page: int) -> None:
        sizes = [pools[name].page_bytes] * 2
        for part, _ in storage._pieces(names[page], str(name), [(0, size) for size in sizes]):
            storage.cache.delete(part)

    forget(swa, 5)  # of a window of two pages: prefixes of 6 and 7 pages cannot be restored, longer and shorter ones can
    found = storage.batch_exists_v2(names, [trailing])
    assert found.restorable_prefix_pages == [1, 2, 3, 4, 5, 8, 9, 10] and found.kv_hit_pages == 10
    forget(draft, 8)  # all pages are needed: at most 8
    found = storage.batch_exists_v2(names, [trailing, everything])
    assert found.restorable_prefix_pages == [1, 2, 3, 4, 5, 8] and found.kv_hit_pages == 8
    forget(draft, 0)
    assert storage.batch_exists_v2(names, [everything]).kv_hit_pages == 0
    with pytest.raises(ValueError, match="not supported"):
        storage.batch_exists_v2(names, [transfer(swa, pools[swa], names, pages, base.PoolHitPolicy.BLOCK_GROUPS)])


def test_a_pool_without_pages_of_its_own() -> None:
    storage = backend(Anchor())
    assert storage.batch_exists(keys(3)) == 3
    assert storage.batch_get_v1(keys(3), None) == storage.batch_set_v1(keys(3), None) == [True] * 3


def test_sglang_injects_its_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the proxy that SGLang's own tests put around a backend."""
    monkeypatch.setenv("SGLANG_TEST_HICACHE_BACKEND_RANDOM_FAILURE", "0.5")
    pool = Pool(pages=4)
    storage = StorageBackendFactory.create_backend("dynamic", config(), pool)
    assert type(storage).__name__ == "HiCacheStorageFailureInjector"
    storage.register_mem_pool_host(pool)
    pool.fill(0, seed=3)
    while storage.batch_set_v1(keys(1), pool.indices([0])) != [True]:
        pass
    outcomes = {storage.batch_get_v1(keys(1), pool.indices([1]))[0] for _ in range(50)}
    assert outcomes == {True, False} and pool.holds(1, seed=3)


def test_a_lost_device_is_a_miss() -> None:
    """The server goes on without its cache."""
    pool = Pool(pages=4)
    storage = backend(pool)
    assert storage.batch_set_v1(keys(1), pool.indices([0])) == [True]
    storage.close()
    assert storage.batch_get_v1(keys(1), pool.indices([0])) == [False]
    assert storage.batch_set_v1(keys(1), pool.indices([0])) == [False]
    assert storage.batch_exists(keys(1)) == 0 and storage.get("key") is None


def test_a_wrong_configuration_says_so() -> None:
    with pytest.raises(ValueError, match="url"):
        backend(extra={"url": ""})
    with pytest.raises(saker.UrlError):
        backend(url="mem:?sise=1")
