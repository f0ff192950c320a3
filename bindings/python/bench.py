# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What Python costs: reads of 1 MiB beside the Rust call, puts of 16 bytes in batches, two threads beside one.

usage: python bench.py RUST_PROGRAM [--check]     RUST_PROGRAM is target/release/saker-python-speed
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from statistics import median

import saker

URL = "mem:?size=1GiB"
KEYS, MIB, CALLS, ROUNDS = 64, 1 << 20, 1000, 5
#: What must hold: a share of the Rust call; puts a second; time of two threads on two devices, as a share of one after the other.
LIMITS = {"get_into": 0.8, "batch": 2e6, "threads": 0.75}


def name(n: int) -> bytes:
    return n.to_bytes(8, "little")


def python_reads() -> float:
    """Bytes a second."""
    with saker.open(URL) as store:
        value, buffer = bytes([7]) * MIB, bytearray(MIB)
        for n in range(KEYS):
            store.put(name(n), value)
        names = [name(n % KEYS) for n in range(CALLS)]
        for key in names[:KEYS]:
            store.get_into(key, buffer)
        begun = time.perf_counter()
        for key in names:
            if store.get_into(key, buffer) != MIB:
                raise AssertionError("a value is missing")
        return CALLS * MIB / (time.perf_counter() - begun)


def rust_reads(program: str) -> float:
    output = subprocess.run([program, URL, str(KEYS), str(MIB), str(CALLS)], check=True, capture_output=True)
    return float(output.stdout)


def reads(program: str) -> tuple[float, float]:
    """Bytes a second of Python, and its share of the Rust call's: medians of runs that alternate."""
    both = [(python_reads(), rust_reads(program)) for _ in range(ROUNDS)]
    return median(python for python, _ in both), median(python / rust for python, rust in both)


def puts() -> dict[str, float]:
    """Puts of 16 bytes a second: by `batch`, by `put_many`, one by one."""
    count, group = 1_000_000, 500
    pairs = [(n.to_bytes(16, "big"), n.to_bytes(16, "little")) for n in range(count)]

    def by_batch(store: saker.Store) -> None:
        for first in range(0, count, group):
            with store.batch() as batch:
                put = batch.put
                for key, value in pairs[first : first + group]:
                    put(key, value)

    def by_put_many(store: saker.Store) -> None:
        store.put_many(pairs)

    def one_by_one(store: saker.Store) -> None:
        put = store.put
        for key, value in pairs:
            put(key, value)

    rates = {}
    for way in (by_batch, by_put_many, one_by_one):
        times = []
        for _ in range(3):
            with saker.open(f"{URL}&prefault={count}") as store:
                begun = time.perf_counter()
                way(store)
                times.append(time.perf_counter() - begun)
        rates[way.__name__] = count / min(times)
    return rates


def threads() -> float:
    """Time of two threads that read 1 MiB values of two devices, as a share of one after the other.

    The best of several runs counts: other programs of a machine take cores away, and nothing gives more than there are.
    """
    stores = [saker.open(URL) for _ in range(2)]
    for store in stores:
        store[b"key"] = bytes(MIB)

    def work(store: saker.Store) -> None:
        buffer = bytearray(MIB)
        for _ in range(CALLS):
            store.get_into(b"key", buffer)

    def run(together: bool) -> float:
        both = [threading.Thread(target=work, args=(store,)) for store in stores]
        begun = time.perf_counter()
        for thread in both:
            thread.start()
            if not together:
                thread.join()
        for thread in both:
            thread.join()
        return time.perf_counter() - begun

    shares = [run(True) / run(False) for _ in range(3 * ROUNDS)]
    for store in stores:
        store.close()
    return min(shares)


def main() -> int:
    program = sys.argv[1]
    rate, share = reads(program)
    rates, overlap = puts(), threads()
    print(f"get_into of 1 MiB         {rate / 1e9:8.2f} GB/s  {share:.2f} of the Rust call")
    for way, puts_a_second in rates.items():
        print(f"puts of 16 bytes, {way:11} {puts_a_second / 1e6:5.2f} M/s")
    print(f"two threads, two devices  {overlap:8.2f} of the time of one after the other")
    held = share >= LIMITS["get_into"] and rates["by_batch"] >= LIMITS["batch"] and overlap <= LIMITS["threads"]
    return 0 if held or "--check" not in sys.argv else 1


if __name__ == "__main__":
    raise SystemExit(main())
