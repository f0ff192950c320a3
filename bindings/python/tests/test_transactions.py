# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Transactions on images, at targets, by threads, and what of them a kill and a fork leave."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import saker

from conftest import tier
from network import a_network, a_target, needs_a_server
from test_processes import in_child

HOST = b"the shop's ID..."
LONG = b"a key that is longer than sixteen bytes"


@pytest.fixture
def path(tmp_path: Path, engine: str) -> Path:
    saker.create(tmp_path / "disk.img", "64MiB", profile="tiny", engine=engine)
    return tmp_path / "disk.img"


def sell(store: saker.Store, number: int, stock: bytes) -> bool:
    """Whether it was carried out now."""
    txn = store.txn()
    txn.put(b"stock", stock)
    txn.put(LONG, stock)
    return txn.commit_as(HOST, number)


def is_sold(store: saker.Store, stock: bytes) -> None:
    assert store.multi_get([b"stock", LONG]) == [stock, stock]
    assert not sell(store, 1, b"a second effect")
    assert store.multi_get([b"stock", LONG]) == [stock, stock]
    assert store.transaction_outcome(HOST, 1) == "done" and store.transaction_outcome(HOST, 2) == "not done"


def test_an_image_keeps_what_was_committed(path: Path) -> None:
    with saker.open(f"file:{path}") as store:
        assert sell(store, 1, b"3")
        txn = store.txn()
        txn.put(b"stock", b"never")
    with pytest.raises(saker.ClosedError):
        txn.commit()
    with saker.open(f"file:{path}") as store:
        is_sold(store, b"3")


def test_what_is_too_long_is_not_done(path: Path) -> None:
    with saker.open(f"file:{path}") as store:
        store[b"one"] = b"1"
        for commits_as in (False, True):
            with pytest.raises(saker.TransactionTooLongError), store.txn() as txn:
                txn.put(b"one", b"2")
                for n in range(20):
                    txn.put(b"long %d" % n, bytes(70_000))
                if commits_as:
                    txn.commit_as(HOST, 1)
            assert txn.ended and store[b"one"] == b"1" and len(store) == 1
        assert sell(store, 1, b"4"), "what was refused has not taken its number"
        is_sold(store, b"4")


def test_commit_through_survives_every_cut(tmp_path: Path, engine: str) -> None:
    """Without a capacitor a cut takes what was not flushed: what was answered is there, and whoever was not told is."""
    answered, unflushed = 0, 0
    for cut_at in range(1, tier(14, 40), 3):
        path = tmp_path / f"{cut_at}.img"
        saker.create(path, "256MiB", profile="nvmevirt-970pro", engine=engine)
        store, number = saker.open(f"file:{path}?fault.cut={cut_at}&fault.seed={cut_at}"), 0
        with pytest.raises(saker.SakerError) as failed:
            while True:
                number += 1
                txn = store.txn()
                txn.put(b"number", b"%d" % number)
                txn.put(LONG, b"%d" % number)
                txn.commit_through()
                assert txn.ended
        unflushed += isinstance(failed.value, saker.UnflushedError)
        answered += number - 1
        with contextlib.suppress(saker.SakerError):
            store.close()  # there is no power
        with saker.open(f"file:{path}") as store:
            there = int(store.get(b"number", b"0"))
            assert there in (number - 1, number)
            assert int(store.get(LONG, b"0")) == there
        path.unlink()
    assert answered > 0 and unflushed > 0


@needs_a_server
def test_hosts_meet_at_a_target(path: Path) -> None:
    with a_target(path) as target, saker.open(target.url) as one, saker.open(target.url) as other:
        one[b"alice"] = b"70"
        with pytest.raises(saker.ConflictError) as conflict, one.txn() as txn:
            assert txn.get(b"alice") == b"70" and txn.get(LONG) is None
            other[LONG] = b"between"
            txn.put(b"alice", b"lost")
        assert conflict.value.key == LONG and other[b"alice"] == b"70"
        with pytest.raises(saker.UnmetError) as unmet, other.txn() as txn:
            txn.require_value(b"alice", b"50")
            txn.put(b"alice", b"lost")
        assert unmet.value.key == b"alice"
        with one.txn() as txn:
            assert txn.get(b"alice") == b"70"
            txn.put(b"alice", b"60")
            assert other[b"alice"] == b"70", "nothing is at the target before the commit"
        assert other[b"alice"] == b"60"
        # Another host's number is another transaction, and this one's is known to whoever asks.
        assert sell(one, 1, b"5") and not sell(other, 1, b"a second effect")
        is_sold(other, b"5")


@needs_a_server
def test_threads_of_two_hosts_count(path: Path) -> None:
    rounds = tier(25, 200)
    with a_target(path) as target, saker.open(target.url) as one, saker.open(target.url) as other:
        one[b"counter"] = b"0"

        def work(store: saker.Store) -> None:
            for _ in range(rounds):
                store.transact(lambda txn: txn.put(b"counter", b"%d" % (int(txn.get(b"counter", b"")) + 1)))

        threads = [threading.Thread(target=work, args=(store,)) for store in (one, one, other, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert one[b"counter"] == other[b"counter"] == b"%d" % (4 * rounds)


@contextlib.contextmanager
def lost(url: str) -> Iterator[saker.Store]:
    """A store whose device is gone when it is closed: what was acknowledged and not flushed cannot be asked for any more."""
    store = saker.open(url)
    yield store
    with pytest.raises(saker.UnreachableError):
        store.close()


@needs_a_server
def test_a_target_that_is_killed_knows_what_it_has_acknowledged(path: Path) -> None:
    with a_target(path) as target, lost(f"{target.url}?reconnect=0") as store:
        assert sell(store, 1, b"3")
        begun = store.txn()
        assert begun.get(b"stock") == b"3"
        begun.put(b"stock", b"never")
        target.kill()
        with pytest.raises(saker.SakerError):
            begun.commit()
        assert begun.ended
    with a_target(path) as target, saker.open(target.url) as store:
        is_sold(store, b"3")


@needs_a_server
def test_a_commit_over_a_network_that_is_cut(path: Path) -> None:
    """Whoever sends it again under its ID has one effect, whatever became of the first."""
    with a_target(path) as target, a_network(target.address) as network:
        with lost(f"tcp://127.0.0.1:{network.port}/{target.nqn}?reconnect=0&timeout=2") as store:
            txn = store.txn()
            txn.put(b"stock", b"3")
            txn.put(LONG, b"3")
            network.cut()
            with pytest.raises((saker.UnreachableError, saker.OutcomeUnknownError)):
                txn.commit_as(HOST, 1)
        with saker.open(target.url) as store:
            sell(store, 1, b"3")
            is_sold(store, b"3")


def test_a_fork_leaves_its_parents_transaction_alone(path: Path) -> None:
    with saker.open(f"file:{path}") as store:
        txn = store.txn()
        txn.put(b"stock", b"3")

        def refused() -> None:
            for call in (txn.commit, lambda: txn.commit_as(HOST, 1), lambda: txn.get(b"stock"), store.txn):
                with pytest.raises(saker.ForkedError):
                    call()
            txn.abort()

        assert in_child(refused) == 0
        txn.put(LONG, b"3")
        assert txn.commit_as(HOST, 1)
        is_sold(store, b"3")
