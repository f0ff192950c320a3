# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The mapping, and the calls of a store, on every engine."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, MutableMapping

import pytest
import saker

from conftest import tier


def test_it_is_a_mapping(engine: str) -> None:
    with saker.open(f"mem:?size=64MiB&profile=tiny&engine={engine}") as store:
        assert isinstance(store, MutableMapping)
        assert not store and len(store) == 0 and list(store) == []
        store[b"key"] = b"value"
        store[b"a key of more than 16 bytes"] = b"other"
        assert store[b"key"] == b"value" and b"key" in store and b"none" not in store
        assert store and len(store) == 2
        assert dict(store) == dict(store.items()) == {b"key": b"value", b"a key of more than 16 bytes": b"other"}
        assert sorted(store.values()) == [b"other", b"value"] and (b"key", b"value") in store.items()
        assert store.get(b"none") is None and store.get(b"none", 7) == 7
        assert store.setdefault(b"new", b"1") == b"1" and store.pop(b"new") == b"1" and store.pop(b"new", None) is None
        store.update({b"x": b"1", b"y": b"2"})
        del store[b"x"]
        with pytest.raises(KeyError) as missing:
            del store[b"x"]
        assert isinstance(missing.value, saker.KeyNotFoundError) and missing.value.key == b"x"
        assert missing.value.status == 0x87 and str(missing.value) == 'there is no key "x"'
        with pytest.raises(KeyError):
            store[b"x"]
        store.clear()
        assert not store and store.get(b"y") is None


def test_a_model_agrees(engine: str) -> None:
    """A history of all calls, beside a dictionary."""
    rng, model = random.Random(7), dict[bytes, bytes]()
    keys = [f"k{n}".encode() + b" long" * (n % 5) for n in range(60)]
    with saker.open(f"mem:?size=64MiB&profile=tiny&engine={engine}") as store:
        for _ in range(tier(1500, 20_000)):
            key, value = rng.choice(keys), rng.randbytes(rng.choice([0, 1, 16, 100, 5000]))
            match rng.randrange(8):
                case 0 | 1:
                    store.put(key, value)
                    model[key] = value
                case 2:
                    assert store.get(key) == model.get(key)
                case 3:
                    assert store.delete(key) == (model.pop(key, None) is not None)
                case 4:
                    assert store.put_if_absent(key, value) == (key not in model)
                    model.setdefault(key, value)
                case 5:
                    asked = rng.sample(keys, 5)
                    assert store.multi_get(asked) == [model.get(key) for key in asked]
                    assert store.multi_exists(asked) == [key in model for key in asked]
                case 6:
                    with store.batch() as batch:
                        for key in rng.sample(keys, 5):
                            batch.put(key, value)
                            model[key] = value
                case _:
                    buffer = bytearray(200)
                    length = store.get_into(key, buffer)
                    found = model.get(key)
                    assert length == (None if found is None else len(found))
                    if found is not None:
                        assert buffer[: len(found)] == found[:200]
        assert dict(store.scan()) == model


def test_an_image_keeps_pairs(image: Callable[..., str], engine: str) -> None:
    url = image(engine)
    with saker.open(url) as store:
        store.put_many((f"{n}".encode(), bytes([n % 256]) * n) for n in range(3000))
        with pytest.raises(saker.ImageError):
            saker.open(url)
    with saker.open(f"{url}?readonly") as store:
        assert len(store) == 3000 and store[b"2999"] == bytes([2999 % 256]) * 2999
        with pytest.raises(saker.WriteProtectedError):
            store[b"key"] = b"value"
    store = saker.open(url)
    store[b"unclosed"] = b"1"
    del store  # as if killed: what was answered is there
    with saker.open(url) as store:
        assert store[b"unclosed"] == b"1"


def test_batches(store: saker.Store) -> None:
    with store.batch() as batch:
        batch.put(b"1", b"one")
        batch.put(b"2", b"two")
        batch.delete(b"1")
        assert len(batch) == 3 and b"2" not in store
    assert len(batch) == 0 and dict(store.items()) == {b"2": b"two"}
    with pytest.raises(ZeroDivisionError), store.batch() as batch:
        batch.put(b"3", b"three")
        raise ZeroDivisionError
    assert b"3" not in store and len(batch) == 0
    atomic = store.batch(atomic=True)
    for n in range(40):
        atomic.put(b"large %d" % n, bytes(60_000))
    assert atomic.atomic
    with pytest.raises(saker.HostError):
        atomic.commit()
    assert b"large 0" not in store, "all of it or nothing"


def test_put_many_takes_mappings_and_iterables(store: saker.Store) -> None:
    store.put_many({b"one": b"1"})
    store.put_many([(b"two", b"2")])
    store.put_many((bytes([n + 1]), memoryview(bytes(n))) for n in range(255))
    store.put_many([])
    assert len(store) == 257
    for wrong in ([b"ab"], [(b"a",)], [(b"a", b"b", b"c")], 7):
        with pytest.raises((TypeError, ValueError)):
            store.put_many(wrong)  # type: ignore[arg-type]


def test_transactions(engine: str) -> None:
    with saker.open(f"mem:?size=64MiB&profile=tiny&engine={engine}") as store:
        store[b"alice"] = b"70"
        with store.txn() as txn:
            assert txn.get(b"alice") == b"70"
            txn.put(b"alice", b"50")
            txn.put(b"bob", b"20")
            assert txn.get(b"alice") == b"50" and b"bob" not in store
        assert store.multi_get([b"alice", b"bob"]) == [b"50", b"20"] and txn.ended
        with pytest.raises(saker.ConflictError) as conflict, store.txn() as txn:
            txn.get(b"alice")
            store[b"alice"] = b"other"
            txn.put(b"bob", b"lost")
        assert conflict.value.key == b"alice" and store[b"bob"] == b"20"
        with pytest.raises(saker.UnmetError) as unmet, store.txn() as txn:
            txn.require_absent(b"carol")
            txn.require_present(b"bob")
            txn.require_value(b"alice", b"70")
            txn.put(b"carol", b"1")
        assert unmet.value.key == b"alice" and b"carol" not in store
        with pytest.raises(ZeroDivisionError), store.txn() as txn:
            txn.delete(b"bob")
            raise ZeroDivisionError
        assert b"bob" in store
        with pytest.raises(saker.ClosedError):
            txn.commit()
        runs = []

        def body(txn: saker.Transaction) -> int:
            number = int(txn.get(b"bob", b"0"))
            if not runs:
                store[b"bob"] = b"21"  # somebody else, the first time
            runs.append(number)
            txn.put(b"bob", b"%d" % (number + 1))
            return number

        assert store.transact(body) == 21 and runs == [20, 21] and store[b"bob"] == b"22"


def test_a_transaction_with_an_id_is_carried_out_once(engine: str) -> None:
    host = b"the shop's ID..."
    with saker.open(f"mem:?size=64MiB&profile=tiny&engine={engine}") as store:
        assert store.transaction_outcome(host, 17) == "not done"
        for n, is_done_now in enumerate([True, False, False]):  # as if answers had been lost
            txn = store.txn()
            txn.put(b"stock", b"%d" % n)
            assert txn.commit_as(host, 17) is is_done_now and txn.ended
            assert store[b"stock"] == b"0" and store.transaction_outcome(host, 17) == "done"
        with store.txn() as txn:  # a commit of its own ends the block
            txn.put(b"stock", b"9")
            assert txn.commit_as(memoryview(host), 18)
        assert list(store) == [b"stock"], "outcomes are nobody's pairs"
        with pytest.raises(saker.UnmetError) as unmet, store.txn() as txn:
            txn.require_absent(b"stock")
            txn.commit_as(host, 19)
        assert unmet.value.key == b"stock" and store.transaction_outcome(host, 19) == "not done"
        with store.txn() as txn:
            txn.commit_as(host, 19 + 2 * 17 * 256)
        with pytest.raises(saker.OutcomeUnknownError):
            store.transaction_outcome(host, 19)
        with pytest.raises(ValueError, match="a host's ID of 3 bytes; it has 16"):
            store.transaction_outcome(b"abc", 1)
        with pytest.raises(OverflowError), store.txn() as txn:
            txn.commit_as(host, -1)


@pytest.mark.parametrize("name", ["hash_store", "hash_original", "hash_doubling", "hash_plus", "lsm", "tree"])
def test_every_engine_has_transactions(name: str) -> None:
    with saker.open(f"mem:?size=64MiB&profile=tiny&engine={name}") as store:
        store.put(b"key", b"old")
        with store.txn() as txn:
            assert txn.get(b"key") == b"old"
            txn.put(b"other", b"value")
        assert store.get(b"other") == b"value"
        lost = store.txn()
        lost.get(b"key")
        lost.put(b"other", b"never")
        store.put(b"key", b"new")
        with pytest.raises(saker.ConflictError) as conflict:
            lost.commit()
        assert conflict.value.key == b"key" and store.get(b"other") == b"value"


def test_a_full_device_goes_on_reading_and_deleting(engine: str) -> None:
    with saker.open(f"mem:?size=16MiB&profile=tiny&engine={engine}") as store:
        stored = 0
        with pytest.raises(saker.CapacityExceededError) as full:
            while True:
                store.put(b"key %d" % stored, bytes(20_000))
                stored += 1
        assert stored > 20 and full.value.status == 0x81
        assert store[b"key 0"] == bytes(20_000)
        # Freed room can be used again.
        for n in range(stored):
            assert store.delete(b"key %d" % n)
        store.put(b"again", bytes(20_000))
        assert list(store) == [b"again"]


def test_settings_and_counters(store: saker.Store) -> None:
    store[b"key"] = bytes(1000)
    counted = store.stats()
    assert counted is not None and counted["pairs"] == 1 and counted["user_bytes_written"] >= 1000
    assert store.profile == "tiny" and store.url.startswith("mem:")
    with saker.open("mem:?size=64MiB&profile=tiny&engine=lsm") as lsm:
        assert lsm.settings()["bloom_bits_per_key"] == ("10", "live")
        lsm.set_setting("bloom_bits_per_key", "12")
        assert lsm.settings()["bloom_bits_per_key"][0] == "12"
        with pytest.raises(saker.SettingError):
            lsm.set_setting("no_such_setting", "1")


def test_what_is_closed_is_an_error(store: saker.Store) -> None:
    store[b"key"] = b"value"
    scan, txn, batch = store.scan(), store.txn(), store.batch()
    batch.put(b"a", b"b")
    store.close()
    store.close()
    assert store.closed and "closed" in repr(store)
    calls: list[Callable[[], object]] = [
        lambda: store.get(b"key"),
        lambda: store.put(b"key", b""),
        lambda: len(store),
        lambda: store.scan(),
        lambda: store.txn(),
        lambda: store.flush(),
        lambda: store.stats(),
        lambda: next(scan),
        lambda: txn.get(b"key"),
        lambda: batch.commit(),
    ]
    for call in calls:
        with pytest.raises(saker.ClosedError):
            call()
    scan.close()


def test_nothing_is_pickled(store: saker.Store) -> None:
    with saker.KvCache("mem:?size=64MiB&profile=tiny") as cache:
        for thing in (store, store.batch(), store.txn(), store.scan(), store.scan_keys(), cache):
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                with pytest.raises(TypeError, match="cannot be pickled"):
                    pickle.dumps(thing, protocol)


def test_wrong_arguments(store: saker.Store) -> None:
    for call in (
        lambda: store.put("text", b""),  # type: ignore[arg-type]
        lambda: store.put(b"key", "text"),
        lambda: store.put(b"key", 7),
        lambda: store.get(None),  # type: ignore[call-overload]
        lambda: store.multi_get([b"key", "text"]),  # type: ignore[list-item]
        lambda: saker.open(7),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(saker.KeyLengthError):
        store.put(b"", b"")
    with pytest.raises(saker.KeyLengthError):
        store.put(bytes(256), b"")
    with pytest.raises(saker.ValueTooLongError):
        store.put(b"key", bytes(3 << 20))
    with pytest.raises(ValueError):
        store.scan(limit=0)
    with pytest.raises(TypeError):
        store.update(a=b"1")
