# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A target in a process of its own, and a network before it that fails when it is told to."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

#: The program that serves a device.
SERVER = os.environ.get("SAKER_SERVER", "")

needs_a_server = pytest.mark.skipif(not SERVER, reason="SAKER_SERVER names no program")


class Target:
    """``saker serve`` on an image."""

    def __init__(self, image: Path | str, *more: str) -> None:
        command = [SERVER, "serve", "--image", str(image), "--listen", "127.0.0.1:0", *more]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self._process.stdout is not None
        line = ""
        while "tcp://" not in line:
            line = self._process.stdout.readline()
            assert line, "the target does not start"
        self.url = "tcp://" + line.split("tcp://", 1)[1].split()[0].rstrip(".,;")
        address = self.url.removeprefix("tcp://").split("/")[0]
        host, _, port = address.rpartition(":")
        self.address, self.nqn = (host, int(port)), self.url.removeprefix("tcp://").partition("/")[2]

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


class Network:
    """A relay to an address: it passes, holds what passes, or is cut."""

    def __init__(self, server: tuple[str, int]) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.state = "pass"
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while self.state != "over":
            if not select.select([self._listener], [], [], 0.01)[0]:
                continue
            client, _ = self._listener.accept()
            if self.state == "cut":
                client.close()
                continue
            threading.Thread(target=self._join, args=(client,), daemon=True).start()
        self._listener.close()

    def _join(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._server) as server:
            both = {client: server, server: client}
            for one in both:
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while self.state not in ("cut", "over"):
                if self.state == "hold":
                    threading.Event().wait(0.002)
                    continue
                for one in select.select(list(both), [], [], 0.002)[0]:
                    try:
                        data = one.recv(1 << 16)
                        if not data:
                            return
                        both[one].sendall(data)
                    except OSError:
                        return

    def cut(self) -> None:
        self.state = "cut"
        threading.Event().wait(0.05)


@contextmanager
def a_target(image: Path | str, *more: str) -> Iterator[Target]:
    target = Target(image, *more)
    try:
        yield target
    finally:
        target.kill()


@contextmanager
def a_network(server: tuple[str, int]) -> Iterator[Network]:
    network = Network(server)
    try:
        yield network
    finally:
        network.state = "over"
