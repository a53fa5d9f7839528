"""A TCP proxy to a server, whose network can be cut in several ways."""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import threading
from types import TracebackType
from typing import Literal, Self

Mode = Literal["pass", "drop", "reset", "blackhole"]
"""How it treats connections: forwards, closes, resets, or keeps them open and forwards nothing."""


class Proxy:
    """Listens on a port of the loopback interface and forwards to the socket of a server."""

    def __init__(self, target: str) -> None:
        """Start.

        Args:
            target: path of the server's Unix socket.
        """
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._mode: Mode = "pass"
        self._pairs: dict[socket.socket, socket.socket] = {}
        self._clients: list[socket.socket] = []
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._wake, self._awake = socket.socketpair()
        self._stopping = False
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._awake, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def cut(self, mode: Mode) -> None:
        """From now on: ``pass`` again, or a fault for all connections, new ones included."""
        with self._lock:
            self._mode = mode
            if mode in {"drop", "reset"}:
                for client in list(self._clients):
                    self._close(client, reset=mode == "reset")

    def cut_one(self, number: int, *, reset: bool) -> None:
        """Cut one of the connections that are open; the others go on."""
        with self._lock:
            if self._clients:
                self._close(self._clients[number % len(self._clients)], reset=reset)

    def _close(self, client: socket.socket, *, reset: bool) -> None:
        server = self._pairs.pop(client)
        self._pairs.pop(server, None)
        self._clients.remove(client)
        if reset:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for end in (client, server):
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(end)
            end.close()

    def _serve(self) -> None:
        while not self._stopping:
            for key, _ in self._selector.select():
                with self._lock:
                    if key.fileobj is self._listener:
                        self._accept()
                    elif key.fileobj is self._awake:
                        self._awake.recv(16)
                    elif isinstance(key.fileobj, socket.socket):
                        self._forward(key.fileobj)

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        if self._mode in {"drop", "reset"}:
            if self._mode == "reset":
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            return
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self._target)
        except OSError:
            server.close()
            client.close()
            return
        self._clients.append(client)
        self._pairs[client], self._pairs[server] = server, client
        for end in (client, server):
            self._selector.register(end, selectors.EVENT_READ)

    def _forward(self, source: socket.socket) -> None:
        other = self._pairs.get(source)
        if other is None:
            return
        client = source if source in self._clients else other
        try:
            data = source.recv(1 << 16)
            if not data:
                self._close(client, reset=False)
            elif self._mode != "blackhole":
                other.sendall(data)
        except OSError:
            self._close(client, reset=False)

    def stop(self) -> None:
        """Close everything."""
        self._stopping = True
        self._wake.send(b"x")
        self._thread.join()
        with self._lock:
            for client in list(self._clients):
                self._close(client, reset=False)
        for end in (self._listener, self._wake, self._awake):
            end.close()
        self._selector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
