#!/usr/bin/env python3
"""A server that speaks PostgreSQL's protocol as far as it likes to. It prints its port.

usage: hostile_postgres.py silent | endless | notices | copy | zero | echo | half
"""
import socket
import struct
import sys
import time


def message(kind, body):
    return kind + struct.pack("!i", len(body) + 4) + body


def startup(client):
    """Reads what begins a connection; libpq first asks whether there is encryption."""
    while True:
        (length,) = struct.unpack("!i", client.recv(4, socket.MSG_WAITALL))
        (code,) = struct.unpack("!i", client.recv(length - 4, socket.MSG_WAITALL)[:4])
        if code == 196608:
            return
        client.sendall(b"N")


def query(client):
    """@return the text of what is asked, or nothing when the client went."""
    text = b""
    while True:
        head = client.recv(5, socket.MSG_WAITALL)
        if len(head) < 5:
            return None
        body = client.recv(struct.unpack("!i", head[1:])[0] - 4, socket.MSG_WAITALL)
        text += body
        if head[:1] in b"QS":
            return text


def columns(count):
    return message(b"T", struct.pack("!h", count) + b"".join(b"c\0" + struct.pack("!ihihih", 0, 0, 25, -1, -1, 0) for _ in range(count)))


def row(*values):
    return message(b"D", struct.pack("!h", len(values)) + b"".join(struct.pack("!i", len(v)) + v for v in values))


READY = message(b"Z", b"I")
DONE = message(b"C", b"SELECT 1\0") + READY


def serve(client, how):
    startup(client)
    if how == "silent":
        time.sleep(60)
    if how == "echo":
        client.sendall(message(b"R", struct.pack("!i", 3)))
        head = client.recv(5, socket.MSG_WAITALL)
        password = client.recv(struct.unpack("!i", head[1:])[0] - 4, socket.MSG_WAITALL)[:-1]
        client.sendall(message(b"E", b"SFATAL\0C28P01\0Myou said " + password + b" and \x1b[31m::error::x\0\0"))
        return
    client.sendall(message(b"R", struct.pack("!i", 0)) + message(b"S", b"client_encoding\0UTF8\0") + READY)
    query(client)
    if how == "half":
        return
    if how == "copy":
        client.sendall(message(b"H", struct.pack("!bh", 0, 0)) + message(b"d", b"x") * 100)
    elif how == "zero":
        client.sendall(DONE)
        query(client)
        client.sendall(columns(2) + row(b"t\0t", b"t") + DONE)
    elif how == "notices":
        while True:
            client.sendall(message(b"N", b"SNOTICE\0C00000\0M" + b"n" * 60000 + b"\0\0") * 50)
    elif how == "endless":
        client.sendall(columns(1))
        while True:
            client.sendall(row(b"t" * 1000000) * 8)
    time.sleep(20)


def main():
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    print(server.getsockname()[1], flush=True)
    client = server.accept()[0]
    try:
        serve(client, sys.argv[1])
    except OSError:  # The client went.
        pass


main()
