#!/usr/bin/env python3
"""The keys of src/setup/debian_keys.def are those that Debian's package debian-archive-keyring has under their fingerprints.

usage: keys.py SOURCES [FINGERPRINT]   with a fingerprint: prints the modulus for a new row. 77: no such package here
"""
import hashlib
import os
import re
import sys

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
KEY, SUBKEY, RSA = 6, 14, 1


def packets(data):
    """(tag, body) of each packet (RFC 9580, 4.2)."""
    at = 0
    while at < len(data):
        head = data[at]
        if head & 0x40:
            tag, first = head & 0x3f, data[at + 1]
            if first < 192:
                size, at = first, at + 2
            elif first < 224:
                size, at = ((first - 192) << 8) + data[at + 2] + 192, at + 3
            else:
                size, at = int.from_bytes(data[at + 2:at + 6], "big"), at + 6
        else:
            tag, width = head >> 2 & 0xf, 1 << (head & 3)
            size, at = int.from_bytes(data[at + 1:at + 1 + width], "big"), at + 1 + width
        yield tag, data[at:at + size]
        at += size


def keys(data):
    """Modulus and exponent of each RSA key, by its fingerprint (RFC 9580, 5.5.4.2)."""
    found = {}
    for tag, body in packets(data):
        if tag in (KEY, SUBKEY) and body[0] == 4 and body[5] == RSA:
            size = (int.from_bytes(body[6:8], "big") + 7) // 8
            name = hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body).hexdigest().upper()
            found[name] = body[8:8 + size].hex(), int.from_bytes(body[10 + size:], "big")
    return found


if not os.path.exists(KEYRING):
    print(f"skipped: no {KEYRING}")
    sys.exit(77)
with open(KEYRING, "rb") as file:
    debian = keys(file.read())
if len(sys.argv) > 2:
    print(debian[sys.argv[2]][0])
    sys.exit(0)
with open(f"{sys.argv[1]}/src/setup/debian_keys.def", encoding="utf-8") as file:
    rows = re.findall(r'^KEY\("(.*?)", "(\w+)",((?:\s*"[0-9a-f]+")+)\)', file.read(), re.M)
compared, wrong = 0, [] if rows else ["no rows"]
for name, fingerprint, modulus in rows:
    if fingerprint in debian:
        compared += 1
        if debian[fingerprint] != ("".join(re.findall("[0-9a-f]+", modulus)), 65537):
            wrong.append(name)
    else:
        print(f"not in the package here: {name}")
for name in wrong:
    print(f"wrong: {name}")
print(f"{compared} of {len(rows)} keys compared")
sys.exit(1 if wrong else 0 if compared else 77)
