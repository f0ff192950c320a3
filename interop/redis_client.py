# SPDX-License-Identifier: Apache-2.0 OR MIT
"""redis-py, as its users call it, on a port of `saker serve --resp`."""

import resource
import socket
import sys
import threading

import redis

PORT, SERVER = int(sys.argv[1]), sys.argv[2]


def refused(error, act):
    try:
        act()
    except error as refusal:
        return str(refusal)
    raise AssertionError(f"{error} was expected")


for protocol in (2, 3):
    with redis.Redis(port=PORT, protocol=protocol) as r:
        assert r.flushdb() and r.ping() and r.dbsize() == 0
        assert r.set("k", "v") and r.get("k") == b"v" and r.get("none") is None
        assert r.set("k", "w", nx=True) is None and r.set("k", "w", xx=True)
        assert r.set("k", "x", get=True) == b"w" and r.strlen("k") == 1
        assert r.mset({"a": "1", "b": "2"}) and r.mget("a", "none", "b") == [b"1", None, b"2"]
        assert r.exists("a", "b", "none") == 2 and r.delete("a", "b", "none") == 2
        assert r.wait(1, 100) == 1
        value = bytes(range(256)) * 4096
        assert r.set("value", value) and r.get("value") == value
        with r.pipeline(transaction=False) as pipe:
            for n in range(5000):
                pipe.set(f"key:{n}", n)
            assert all(pipe.execute())
            for n in range(5000):
                pipe.get(f"key:{n}")
            assert pipe.execute() == [str(n).encode() for n in range(5000)]
        assert set(r.scan_iter("key:49*", count=1000)) == {f"key:{n}".encode() for n in range(5000) if str(n).startswith("49")}
        assert r.dbsize() == 5002
        assert r.info()["redis_mode"] == "standalone" and r.config_get("save") == {"save": ""}
        assert any(client["addr"] for client in r.client_list())
        assert "is not supported" in refused(redis.ResponseError, lambda: r.set("k", "v", ex=10))
        assert "unknown command" in refused(redis.ResponseError, lambda: r.incr("k"))
        refused(redis.ResponseError, lambda: r.get("k" * 256))


def count(locks, name):
    with redis.Redis(port=PORT) as r:
        locks.append(sum(1 for n in range(500) if r.set(f"lock:{n}", name, nx=True)))


locks = []
threads = [threading.Thread(target=count, args=(locks, name)) for name in "abc"]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert sum(locks) == 500, locks


# Many that wait: a place each, and next to no memory of the server's program.
def resident():
    with open(f"/proc/{SERVER}/statm") as file:
        return int(file.read().split()[1]) * 4096


most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
many, before = min(9900, most - 100), resident()
crowd = [socket.create_connection(("127.0.0.1", PORT)) for _ in range(many)]
for waiting in crowd:
    waiting.sendall(b"PING\r\n")
for waiting in crowd:
    assert waiting.recv(7) == b"+PONG\r\n"
grown = (resident() - before) // many
print(f"redis: {many} connections, {grown} bytes of memory each")
assert grown < 8192, grown
