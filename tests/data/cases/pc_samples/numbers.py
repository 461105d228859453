"""Prints the numbers of a thread_trace.json of PC samples, but for places, which only JSON files have."""
import json
import sys

for t in json.load(open(sys.argv[1]))["thread_trace"]:
    print(t["sampling"]["method"], t["kernel"], t["sampling"]["dispatches"], t["sampling"]["undecoded"])
    for i in sorted(t["instructions"], key=lambda i: i["isa"]):
        s = i["samples"]
        print(" ", i["isa"].split()[0], s["taken"], s["issued"], s["stalled"], s["active_lanes"], s["not_issued"])
