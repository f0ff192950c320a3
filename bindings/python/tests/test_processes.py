# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What other processes do: forks, and SIGKILL."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import saker

from conftest import tier


def in_child(work: Callable[[], object]) -> int:
    """Exit code of a fork that does it: 0 if it went well, 1 if it raised."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("options", ["&profile=tiny", "&profile=tiny&threads=1", "&profile=tiny&timing=real", "&profile=tiny&shards=2&threads=1"])
def test_a_fork_is_refused(options: str) -> None:
    with saker.open(f"mem:?size=64MiB{options}") as store, saker.KvCache("mem:?size=64MiB&profile=tiny") as cache:
        store[b"key"] = b"value"
        scan = store.scan()

        def refused() -> None:
            for call in (
                lambda: store.get(b"key"),
                lambda: store.put(b"key", b""),
                lambda: next(scan),
                lambda: store.batch().commit() or store.flush(),
                lambda: cache.get(b"key"),
                store.close,
                cache.close,
                len,
            ):
                with pytest.raises(saker.ForkedError, match="before this process was forked"):
                    call() if call is not len else len(store)
            assert store.closed
            # Its own device is its own.
            with saker.open("mem:?size=64MiB&profile=tiny") as own:
                own[b"key"] = b"child"

        assert in_child(refused) == 0
        assert store[b"key"] == b"value" and list(scan) == [(b"key", b"value")]


def test_a_child_leaves_the_image_alone(image: Callable[..., str]) -> None:
    """A child that ends in order, with all its objects, does not touch what its parent has open."""
    url = image()
    store = saker.open(url)
    store[b"before"] = b"1"
    context = multiprocessing.get_context("fork")
    process = context.Process(target=lambda: store.closed)
    process.start()
    process.join()
    assert process.exitcode == 0
    store[b"after"] = b"2"
    with pytest.raises(saker.ImageError):
        saker.open(url)  # it is still locked
    store.close()
    with saker.open(url) as store:
        assert dict(store.items()) == {b"before": b"1", b"after": b"2"}


def test_a_parent_closes_while_a_child_lives(image: Callable[..., str]) -> None:
    url = image()
    store = saker.open(url)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writer)
        os.read(reader, 1)
        os._exit(0)
    store[b"key"] = b"value"
    store.close()
    with saker.open(url) as again:
        assert again[b"key"] == b"value"
    os.close(writer)
    os.close(reader)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


WRITER = """
import sys, saker
store = saker.open(sys.argv[1])
n = int(sys.argv[2])
how = n % 4
while True:
    key = b"%d" % n
    if how == 0:
        store[key] = key * 50
    elif how == 1:
        with store.batch() as batch:
            batch.put(key, key * 50)
    elif how == 2:
        store.put_many([(key, key * 50)])
    else:
        with store.txn() as txn:
            txn.put(key, key * 50)
    sys.stdout.write("%d\\n" % n)
    sys.stdout.flush()
    n += 1
"""


@pytest.mark.parametrize("engine", ["hash_store", "hash_plus", "lsm", "tree"])
def test_sigkill_keeps_what_was_acknowledged(image: Callable[..., str], engine: str) -> None:
    url, first, told = image(engine), 0, 0
    for round_ in range(tier(4, 50)):
        if engine == "hash_plus" and first % 4 == 3:
            first += 1  # it has no transactions
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, url, str(first)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for _ in range(50 + 37 * round_ % 101):
            told = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().splitlines(keepends=True)
        told = max([told, *(int(line) for line in rest if line.endswith("\n"))])
        assert process.wait() == -signal.SIGKILL
        with saker.open(url) as store:
            lost = [n for n in range(first, told + 1) if store.get(b"%d" % n) != b"%d" % n * 50]
            assert not lost
        first = told + 2


def test_a_lost_target(tmp_path: Path) -> None:
    """Without a target there is an error that says so, at once."""
    with pytest.raises(saker.RemoteError) as lost:
        saker.open("tcp://127.0.0.1:9/nqn.none?reconnect=0&timeout=1")
    assert isinstance(lost.value, ConnectionError)
