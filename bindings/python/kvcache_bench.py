# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Blocks of prompts that share prefixes, on four stores: a device of Saker as a cache, files, Redis, RocksDB.

usage: python kvcache_bench.py FOLDER [--prompts N] [--seed N] [--json FILE]      FOLDER is on the file system to be measured

Each store has the same room for blocks. Prompts come by a Zipf distribution over documents; a prompt asks how many of its blocks are
there from the first on, reads those, and stores the others. What is full makes room: by its own policy (Saker, Redis), or by a list of
the least recently used that this program keeps (files, RocksDB, which have none).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections import OrderedDict
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import saker

MIB = 1 << 20
BLOCK = 256 << 10
#: Bytes of blocks that a store may keep.
ROOM = 512 * MIB
DOCUMENTS, BLOCKS_OF_DOCUMENT, SUFFIXES = 600, 8, 4


class Prompts:
    """Names of blocks of prompts: a document, a part of it that is shared, and an ending of its own."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._weights = [1 / (rank + 1) for rank in range(DOCUMENTS)]

    def next(self) -> list[bytes]:
        document = self._random.choices(range(DOCUMENTS), self._weights)[0]
        shared = self._random.randint(1, BLOCKS_OF_DOCUMENT)
        ending = self._random.randrange(SUFFIXES)
        chain, names = b"", []
        for n in range(shared + 1):
            part = b"%d/%d" % (document, n) if n < shared else b"%d/%d/%d" % (document, n, ending)
            chain = hashlib.blake2b(chain + part, digest_size=16).digest()
            names.append(chain)
        return names


class Target(Protocol):
    """A store of blocks."""

    name: str

    def prefix(self, names: list[bytes]) -> int: ...
    def read(self, names: list[bytes], into: memoryview) -> int: ...
    def store(self, name: bytes, block: memoryview) -> None: ...
    def processes(self) -> list[int]: ...
    def close(self) -> None: ...


class Least:
    """Names by their last use, with room for so many blocks."""

    def __init__(self) -> None:
        self.names: OrderedDict[bytes, None] = OrderedDict()

    def use(self, name: bytes) -> None:
        self.names[name] = None
        self.names.move_to_end(name)

    def victims(self) -> list[bytes]:
        """Those that go before another block comes."""
        return [self.names.popitem(last=False)[0] for _ in range(len(self.names) + 1 - ROOM // BLOCK)]


class Saker:
    """An image on the file system, by `saker.KvCache`: flash of so many times the room, which is filled to the room, or as far as a cache
    goes by itself."""

    def __init__(self, folder: Path, order: str = "lru", flash: float = 2.0, fills: bool = True) -> None:
        self.name = f"Saker, {order}, flash of {flash:g} rooms" + ("" if fills else ", 80 % of it: the default")
        path = folder / "disk.img"
        saker.create(path, f"{int(ROOM * flash) // MIB}MiB")
        self.cache = saker.KvCache(f"file:{path}", bytes_max=ROOM if fills else None, order=order)

    def prefix(self, names: list[bytes]) -> int:
        return self.cache.prefix(names)

    def read(self, names: list[bytes], into: memoryview) -> int:
        parts = [into[n * BLOCK : (n + 1) * BLOCK] for n in range(len(names))]
        return sum(length or 0 for length in self.cache.get_many_into(names, parts))

    def store(self, name: bytes, block: memoryview) -> None:
        self.cache.put_if_absent(name, block)

    def processes(self) -> list[int]:
        return [os.getpid()]



    def close(self) -> None:
        self.cache.close()


class Files:
    """A file for each block, as SGLang's `file` backend has."""

    name = "files"

    def __init__(self, folder: Path) -> None:
        self.folder, self.least = folder, Least()

    def prefix(self, names: list[bytes]) -> int:
        there = 0
        for name in names:
            if not (self.folder / name.hex()).exists():
                break
            there += 1
        return there

    def read(self, names: list[bytes], into: memoryview) -> int:
        total = 0
        for n, name in enumerate(names):
            with open(self.folder / name.hex(), "rb", buffering=0) as file:
                total += file.readinto(into[n * BLOCK : (n + 1) * BLOCK]) or 0
            self.least.use(name)
        return total

    def store(self, name: bytes, block: memoryview) -> None:
        for victim in self.least.victims():
            (self.folder / victim.hex()).unlink()
        with open(self.folder / name.hex(), "wb", buffering=0) as file:
            file.write(block)
        self.least.use(name)

    def processes(self) -> list[int]:
        return [os.getpid()]


    def close(self) -> None:
        pass


class Redis:
    """A server of its own with `maxmemory`, without a file: blocks are in memory only."""

    name = "Redis"

    def __init__(self, folder: Path) -> None:
        import redis

        self.socket = folder / "redis.sock"
        command = ["redis-server", "--port", "0", "--unixsocket", str(self.socket), "--save", "", "--appendonly", "no",
                   "--maxmemory", str(ROOM), "--maxmemory-policy", "allkeys-lru", "--dir", str(folder)]  # fmt: skip
        self.server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.client = redis.Redis(unix_socket_path=str(self.socket))
        for _ in range(100):
            try:
                self.client.ping()
                break
            except redis.ConnectionError:
                time.sleep(0.05)

    def prefix(self, names: list[bytes]) -> int:
        pipeline = self.client.pipeline(transaction=False)
        for name in names:
            pipeline.exists(name)
        there = pipeline.execute()
        return there.index(0) if 0 in there else len(there)

    def read(self, names: list[bytes], into: memoryview) -> int:
        total = 0
        for n, value in enumerate(self.client.mget(names)):
            if value is not None:
                into[n * BLOCK : n * BLOCK + len(value)] = value
                total += len(value)
        return total

    def store(self, name: bytes, block: memoryview) -> None:
        self.client.set(name, block)

    def processes(self) -> list[int]:
        return [os.getpid(), self.server.pid]


    def close(self) -> None:
        self.client.close()
        self.server.send_signal(signal.SIGTERM)
        self.server.wait()


class RocksDb:
    """RocksDB with its blob files and without its log, by rocksdict."""

    name = "RocksDB"

    def __init__(self, folder: Path) -> None:
        from rocksdict import Options, Rdict, WriteOptions

        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_enable_blob_files(True)
        options.set_enable_blob_gc(True)
        options.set_min_blob_size(1024)
        self.folder, self.least = folder / "rocks", Least()
        self.db = Rdict(str(self.folder), options)
        writes = WriteOptions()
        writes.disable_wal = True
        self.db.set_write_options(writes)

    def prefix(self, names: list[bytes]) -> int:
        there = 0
        for name in names:
            if name not in self.least.names:
                break
            there += 1
        return there

    def read(self, names: list[bytes], into: memoryview) -> int:
        total = 0
        for n, value in enumerate(self.db.get(names)):
            if value is not None:
                into[n * BLOCK : n * BLOCK + len(value)] = value
                total += len(value)
            self.least.use(names[n])
        return total

    def store(self, name: bytes, block: memoryview) -> None:
        for victim in self.least.victims():
            self.db.delete(victim)
        self.db[name] = bytes(block)
        self.least.use(name)

    def processes(self) -> list[int]:
        return [os.getpid()]


    def close(self) -> None:
        self.db.close()


def cpu(processes: list[int]) -> float:
    """Seconds of processor time of processes, all their threads."""
    total = 0.0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def storage(processes: list[int]) -> int:
    """Bytes that processes have caused to be written to storage, all their threads: `write_bytes` of proc(5)."""
    total = 0
    for process in processes:
        lines = Path(f"/proc/{process}/io").read_text().splitlines()
        total += int(next(line.split()[1] for line in lines if line.startswith("write_bytes")))
    return total


def run(target: Target, prompts: int, seed: int) -> dict[str, Any]:
    """The figures of a store: the first prompts fill it, those behind are counted."""
    source, into = Prompts(seed), memoryview(bytearray(BLOCK * (BLOCKS_OF_DOCUMENT + 1)))
    content = memoryview(random.Random(seed).randbytes(BLOCK))
    asked = hit = read = stored = written = 0
    begun = used = 0.0
    for n in range(-prompts // 2, prompts):
        if n == 0:
            asked = hit = read = stored = 0
            written = storage(target.processes())
            begun, used = time.perf_counter(), cpu(target.processes())
        names = source.next()
        there = target.prefix(names)
        if there:
            got = target.read(names[:there], into)
            read += got
        for name in names[there:]:
            target.store(name, content)
            stored += BLOCK
        asked, hit = asked + len(names), hit + there
    elapsed, used = time.perf_counter() - begun, cpu(target.processes()) - used
    moved = read + stored
    return {
        "store": target.name,
        "hit_rate": hit / asked,
        "gigabytes_a_second": moved / elapsed / 1e9,
        "cpu_seconds_a_gigabyte": used / (moved / 1e9),
        "write_amplification": (storage(target.processes()) - written) / stored,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--prompts", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    lru, fifo, tight = partial(Saker), partial(Saker, order="fifo", flash=1.25), partial(Saker, flash=1.25)
    default = partial(Saker, flash=1.25, fills=False)
    for kind in (lru, fifo, tight, default, Files, Redis, RocksDb):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            try:
                target = kind(Path(folder))
            except (ImportError, FileNotFoundError) as missing:
                print(f"skipped: {missing}")
                continue
            rows.append(run(target, arguments.prompts, arguments.seed))
            target.close()
    print("| store | hit rate | GB/s | CPU s/GB | bytes to storage a byte stored |")
    print("|---|--:|--:|--:|--:|")
    for row in rows:
        print(
            f"| {row['store']} | {row['hit_rate']:.3f} | {row['gigabytes_a_second']:.2f} "
            f"| {row['cpu_seconds_a_gigabyte']:.2f} | {row['write_amplification']:.2f} |"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
