# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Inside the guest: Mooncake's published wheel, unmodified, offloads objects to the device of `saker serve`, and reads them back from there.

usage: soak.py OBJECTS     prints what it does; exit code 0: all objects came back, some of them from the device
"""

import hashlib
import sys
import time

from mooncake.store import MooncakeDistributedStore

MIB = 1 << 20
#: Memory of the client for objects: less than all of them need, so that most are at the device alone.
SEGMENT = 64 * MIB
#: Lengths of objects: below, at and above what a command of Mooncake's carries (264 KiB), so that some are stored in chunks. Those are
#: multiples of 4096: Mooncake 0.3.13 pads a last chunk that is not, and refuses it when it comes back padded.
LENGTHS = [1000, 4096, 65_536, 200_000, 270_336, 274_432, MIB, 3 * MIB + 8192]
#: Objects that are stored before the device is waited for.
TOGETHER = 16
WAIT_SECONDS = 120


def content(n: int) -> bytes:
    """The bytes of an object."""
    length = LENGTHS[n % len(LENGTHS)]
    seed = hashlib.blake2b(b"object %d" % n, digest_size=64).digest()
    return (seed * (length // len(seed) + 1))[:length]


def name(n: int) -> str:
    return f"object-{n:05}-" + "k" * (n % 7 * 20)


def places(store: MooncakeDistributedStore, key: str) -> tuple[bool, bool]:
    """Whether an object is in memory, and at the device."""
    replicas = store.get_replica_desc(key)
    return any(one.is_memory_replica() for one in replicas), any(one.is_local_disk_replica() for one in replicas)


def put(store: MooncakeDistributedStore, numbers: range) -> None:
    """Stores objects, and waits until the device has them: a master that is short of memory would forget them before."""
    deadline = time.monotonic() + WAIT_SECONDS
    for n in numbers:
        while store.put(name(n), content(n)) != 0:
            wait(deadline, f"object {n} cannot be stored")
    while not all(places(store, name(n))[1] for n in numbers):
        wait(deadline, f"objects {numbers} do not come to the device")


def wait(deadline: float, what: str) -> None:
    if time.monotonic() > deadline:
        raise TimeoutError(what)
    time.sleep(0.2)


def main() -> int:
    objects, folder = int(sys.argv[1]), sys.argv[2]
    store = MooncakeDistributedStore()
    code = store.setup(
        "127.0.0.1:17777", "P2PHANDSHAKE", SEGMENT, 32 * MIB, "tcp", "", "127.0.0.1:50051",
        enable_ssd_offload=True, ssd_offload_path=folder,
    )  # fmt: skip
    if code != 0:
        print(f"mooncake: setup answers {code}")
        return 1
    for first in range(0, objects, TOGETHER):
        put(store, range(first, min(first + TOGETHER, objects)))
    found = [places(store, name(n)) for n in range(objects)]
    memory, alone = sum(one for one, _ in found), sum(other and not one for one, other in found)
    total = sum(len(content(n)) for n in range(objects))
    print(f"mooncake: {objects} objects of {total} bytes are at the device, {memory} in memory as well, {alone} there alone")
    wrong = [n for n in range(objects) if store.get(name(n)) != content(n)]
    print(f"mooncake: {objects - len(wrong)} came back whole; wrong or missing: {wrong[:10]}")
    store.close()
    return 0 if not wrong and alone > objects // 4 else 1


if __name__ == "__main__":
    raise SystemExit(main())
