# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What redis-py makes of a device that is full, only read, slow, or killed. usage: redis_faults.py SAKER FOLDER"""

import signal
import subprocess
import sys

import redis

SAKER, FOLDER = sys.argv[1:3]
IMAGE = f"{FOLDER}/faults.img"
SLOW = "timing=real&fault.spike=1/1&fault.spike_ns=100000000"


class Server:
    def __init__(self, url, listen="127.0.0.1:0"):
        command = [SAKER, "serve", "--quiet", "--url", url, "--resp", listen]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("serving redis://"), line
        self.port = int(line.rpartition(":")[2])

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def raises(error, act):
    try:
        answer = act()
    except error as refusal:
        return refusal
    raise AssertionError(f"{error} was expected, not {answer}")


def image(engine):
    subprocess.run(["rm", "-f", IMAGE], check=True)
    subprocess.run([SAKER, "create", IMAGE, "--size", "8MiB", "--profile", "tiny", "--engine", engine], check=True, stdout=subprocess.DEVNULL)
    return f"file:{IMAGE}"


def is_full(url):
    with Server(url) as server, redis.Redis(port=server.port) as r:
        value, stored = bytes(20_000), 0
        try:
            while stored < 5000:
                r.set(f"key:{stored}", value)
                stored += 1
        except redis.exceptions.OutOfMemoryError:
            pass
        assert 50 < stored < 5000, stored
        assert all(r.get(f"key:{n}") == value for n in range(stored))
        with r.pipeline(transaction=False) as pipe:
            for n in range(30):
                pipe.set(f"more:{n}", value)
            answers = pipe.execute(raise_on_error=False)
        refused = [isinstance(answer, redis.exceptions.OutOfMemoryError) for answer in answers]
        assert any(refused) and [r.exists(f"more:{n}") == 0 for n in range(30)] == refused, answers
        assert r.delete(*(f"key:{n}" for n in range(stored))) == stored and r.set("again", value)


ENGINES = ["hash_store", "hash_original", "hash_doubling", "hash_plus", "lsm", "tree"]
for engine in ENGINES:
    is_full(f"mem:?size=8MiB&profile=tiny&engine={engine}")
    is_full(image(engine))

for engine in ENGINES:
    # Killed amid pipelines: what was acknowledged is there for the same client object, at the next server.
    url = image(engine)
    with Server(url) as server:
        port, acknowledged = server.port, 0
        with redis.Redis(port=port, retry=None) as r:
            for n in range(0, 400, 20):
                if n == 200:
                    server.kill()
                pipe = r.pipeline(transaction=False)
                for m in range(n, n + 20):
                    pipe.set(f"key:{m}", m)
                if n < 200:
                    assert all(pipe.execute())
                    acknowledged = n + 20
                else:
                    raises(redis.exceptions.ConnectionError, pipe.execute)
            with Server(url, f"127.0.0.1:{port}"):
                assert [r.get(f"key:{n}") for n in range(acknowledged)] == [str(n).encode() for n in range(acknowledged)]

with Server(f"file:{IMAGE}?readonly") as server, redis.Redis(port=server.port) as r:
    assert r.get("key:7") == b"7"
    raises(redis.exceptions.ReadOnlyError, lambda: r.set("key:7", "8"))
    raises(redis.exceptions.ReadOnlyError, lambda: r.delete("key:7"))
    raises(redis.exceptions.ReadOnlyError, r.flushdb)

for url in (f"mem:?size=16MiB&profile=tiny&{SLOW}", f"{image('hash_store')}?{SLOW}"):
    with Server(url) as server, redis.Redis(port=server.port, socket_timeout=0.05, retry=None) as r:
        acknowledged = []

        def fill():
            for n in range(100):
                assert r.set(f"key:{n}", bytes(20_000))
                acknowledged.append(n)

        raises(redis.exceptions.TimeoutError, fill)
        with redis.Redis(port=server.port) as patient:
            assert patient.set("k", "v") and patient.get(f"key:{acknowledged[-1]}") == bytes(20_000)
