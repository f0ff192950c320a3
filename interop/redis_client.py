"""redis-py, as its users call it, on a port of `saker serve --resp`."""

import sys
import threading

import redis

PORT = int(sys.argv[1])


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
