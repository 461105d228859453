"""Reads a Perfetto trace without any code of ours or of Perfetto, and checks it against timeline.json.

usage: perfetto.py TRACE TIMELINE_JSON
Prints the tracks, and one line for each check that holds; exit status 1 if one does not.
"""
import json
import struct
import sys


def fields(data):
    """(field, value) of a message: whole numbers, or bytes."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                assert shift <= 70, "a number of more than ten bytes"
                return value
    while at < len(data):
        tag = number()
        wire = tag & 7
        if wire == 0:
            yield tag >> 3, number()
        elif wire == 1:
            yield tag >> 3, struct.unpack_from("<Q", data, at)[0]
            at += 8
        elif wire == 2:
            size = number()
            assert at + size <= len(data), "a field ends after its message"
            yield tag >> 3, data[at:at + size]
            at += size
        else:
            raise AssertionError(f"wire type {wire}")


def one(data):
    return dict(fields(data))


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def annotations(event):
    for field, value in event:
        if field == 4:
            a = one(value)
            kind = next(k for k in (2, 4, 6) if k in a)
            yield a[10].decode(), a[6].decode() if kind == 6 else signed(a[kind])


def read(path):
    """Tracks by number; slices in the order of the file: (track, start, end, name, categories, flows, annotations)."""
    tracks, slices, open_ = {}, [], {}
    with open(path, "rb") as f:
        packets = [value for field, value in fields(f.read()) if field == 1]
    assert one(packets[0])[13] == 1, "the first packet begins no sequence"
    for packet in map(one, packets):
        assert packet[10] == 1
        if 60 in packet:
            t = one(packet[60])
            assert t[1] not in tracks, "a track is there twice"
            assert 5 not in t or t[5] in tracks, "a track before its parent"
            tracks[t[1]] = t
            continue
        event = list(fields(packet[11]))
        e = dict(event)
        assert e[11] in tracks, "an event before its track"
        if e[9] == 1:
            slices.append([e[11], packet[8], None, e[23].decode(), [v.decode() for k, v in event if k == 22],
                           [v for k, v in event if k == 47], dict(annotations(event))])
            open_.setdefault(e[11], []).append(slices[-1])
        else:
            assert e[9] == 2
            open_[e[11]].pop()[2] = packet[8]
    assert not any(open_.values()), "a slice has no end"
    return tracks, slices


def overlaps(slices):
    last = {}
    for track, start, end, *_ in sorted(slices, key=lambda s: (s[0], s[1], s[2])):
        if start < last.get(track, 0) or end < start:
            return True
        last[track] = end
    return False


def arrows(slices, index):
    """As Perfetto's flow_tracker.cc draws them: from each slice with a number to the next one that has it."""
    last = {}
    for s in sorted(slices, key=lambda s: s[1]):
        for flow in s[5]:
            if flow in last:
                yield index[id(last[flow])], index[id(s)]
            last[flow] = s


def main():
    tracks, slices = read(sys.argv[1])
    with open(sys.argv[2]) as f:
        t = json.load(f)
    for number, track in tracks.items():
        process = one(track[3]) if 3 in track else {}
        print(number, track.get(5, "-"), process.get(6, track.get(2, b"")).decode())
    ops = [s for s in slices if "slack_ns" in s[6]]
    key = {(int("copy_id" in s[6]), s[6].get("copy_id", s[6].get("dispatch_id"))): s for s in ops}
    rows = [key[c, i] for c, i in zip(t["copy"], t["id"])]
    names = [t["names"][n] for n in t["name"]]
    want = [(s, s + d, n, k, bool(p), t["classes"][v]) for s, d, n, k, p, v in
            zip(t["start_ns"], t["duration_ns"], names, t["slack_ns"], t["on_path"], t["via"])]
    seen = [(r[1], r[2], r[3], r[6]["slack_ns"], bool(r[6]["on_critical_path"]), r[6]["waited_by"]) for r in rows]
    edges = sorted(arrows(ops, {id(r): i for i, r in enumerate(rows)}))
    path = sorted((s[1], s[3]) for s in slices if "slack_ns" not in s[6])
    checks = {
        "every operation is there once": len(ops) == len(rows) == len(key) == len(want),
        "times, names, slack, path, classes": want == seen,
        "arrows": edges == sorted((w, i) for i, w in enumerate(t["waited_for"]) if w >= 0),
        "the path": path == sorted((w[0], w[2]) for w in want if w[4]),
        "the path is marked": all(("critical_path" in r[4]) == w[4] for r, w in zip(rows, want)),
        "no slices overlap in a track": not overlaps(slices),
    }
    for what, holds in checks.items():
        print(what + (": yes" if holds else ": NO"))
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
