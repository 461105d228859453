"""A model server for tests that answers as it is told, down to the bytes on the wire.

    with Server(behaviour, ...) as server:      # one behaviour for each request, the last for all others
        ... server.url ...
    server.requests                             # what came: Request(line, headers, body)

A behaviour is a function of (connection, request) that writes raw bytes to the socket. The ones
below make the usual ones.
"""
import json
import socket
import struct
import threading
import time
from collections import namedtuple

Request = namedtuple("Request", "line headers body")


class Server:
    def __init__(self, *behaviours, wrap=None):
        self.behaviours, self.requests, self.wrap = list(behaviours), [], wrap
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http{'s' if wrap else ''}://127.0.0.1:{self.port}/v1"
        self.lock = threading.Lock()

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """From now on nobody is there."""
        if self.listener.fileno() >= 0:
            self.listener.shutdown(socket.SHUT_RDWR)  # ends accept(), which would keep it open
            self.listener.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        try:
            if self.wrap:
                connection = self.wrap(connection)
            with connection:
                request = read_request(connection)
                with self.lock:
                    self.requests.append(request)
                    index = min(len(self.requests), len(self.behaviours)) - 1
                self.behaviours[index](connection, request)
        except OSError:
            pass  # the client went away: some are meant to


def read_request(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            raise OSError("no request")
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    line, *rest = head.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, value in
               (entry.split(":", 1) for entry in rest)}
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(65536)
    return Request(line, headers, body)


def send(connection, status, body, kind="application/json", extra="", length=None):
    body = body.encode() if isinstance(body, str) else body
    length = len(body) if length is None else length
    head = (f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n"
            f"Connection: close\r\n{extra}\r\n")
    connection.sendall(head.encode("latin-1") + body)


def completion(text, finish="stop", usage=(100, 50)):
    value = {"object": "chat.completion",
             "choices": [{"index": 0, "finish_reason": finish,
                          "message": {"role": "assistant", "content": text}}]}
    if usage:
        value["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return json.dumps(value)


def whole(text, **how):
    return lambda connection, _: send(connection, 200, completion(text, **how))


def body(text, status=200, kind="application/json", extra="", length=None):
    return lambda connection, _: send(connection, status, text, kind, extra, length)


def events(text, finish="stop", pieces=7, done=True, newline="\n", usage=True):
    """The bytes of a stream of events that holds the text."""
    def event(value):
        return f"data: {json.dumps(value)}{newline}{newline}"
    out = event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": None}}]})
    for at in range(0, len(text), pieces):
        out += event({"choices": [{"index": 0, "delta": {"content": text[at:at + pieces]}}]})
        if at % 3 == 0:
            out += f": a comment{newline}"
    if finish:
        out += event({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        out += event({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 50}})
    if done:
        out += f"data: [DONE]{newline}{newline}"
    return out.encode()


def stream(data, chunk=None, pause_s=0, linger_s=0):
    """Sends events; in chunks of so many bytes, each a write of its own."""
    def behave(connection, _):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
                           b"Transfer-Encoding: chunked\r\n\r\n")
        step = chunk or len(data)
        for at in range(0, len(data), step):
            part = data[at:at + step]
            connection.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            if pause_s:
                time.sleep(pause_s)
        if linger_s:
            time.sleep(linger_s)
        connection.sendall(b"0\r\n\r\n")
    return behave


def reset(connection, _):
    """Ends the connection with RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def cut(data):
    """Sends this and closes."""
    return lambda connection, _: connection.sendall(data)


def silent(connection, _):
    time.sleep(30)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def flood(head, piece, pieces=None):
    """Sends the head, then the piece, so often or for ever: only the client can end it."""
    def behave(connection, _):
        connection.sendall(head)
        sent = 0
        while pieces is None or sent < pieces:
            connection.sendall(piece)
            sent += 1
    return behave
