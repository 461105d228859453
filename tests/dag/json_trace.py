#!/usr/bin/env python3
"""`rocm-perf analyze` on the JSON that rocprofv3 writes instead of a database.

usage: json_trace.py ROCM_PERF FOLDER DATA
Databases of the trace generator and of the genuine rocprofv3 (DATA) are written down as JSON, record
by record as rocprofv3 does it (rocprofiler-sdk, source/lib/output/generateJSON.cpp). Results of all
kinds must be the same but for the name of the process, whatever the order of the parts, the white
space, and the number of processes in a file. Then damage: every field and part is dropped or spoilt
in turn, and files are cut; a clear refusal or a result, but never a crash.
"""
import copy
import glob
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys

HANDLE = 2**64 - 4096  # handles have all 64 bits


def rows(db, query):
    db.row_factory = sqlite3.Row
    try:
        return [dict(r) for r in db.execute(query)]
    except sqlite3.OperationalError:
        return []


class Kinds:
    """strings.buffer_records: kinds of records with the names of their operations."""

    def __init__(self):
        self.kinds = [{"kind": "NONE", "operations": ["NONE"]}]

    def of(self, kind, operation):
        at = next((i for i, k in enumerate(self.kinds) if k["kind"] == kind), len(self.kinds))
        if at == len(self.kinds):
            self.kinds.append({"kind": kind, "operations": []})
        names = self.kinds[at]["operations"]
        if operation not in names:
            names.append(operation)
        return {"size": 64, "kind": at, "operation": names.index(operation)}


def agent(row):
    return {**json.loads(row["extdata"] or "{}"), "id": {"handle": HANDLE + row["id"]},
            "type": 2 if row["type"] == "GPU" else 1, "node_id": row["id"],
            "logical_node_id": row["logical_index"], "logical_node_type_id": row["type_index"],
            "device_id": row["uuid"] or 0, "name": row["name"] or "", "model_name": row["model_name"] or "",
            "vendor_name": row["vendor_name"] or "", "product_name": row["product_name"] or ""}


def agent_id(number):
    return {"handle": HANDLE + number}


def kernel(row):
    return {"size": 88, "kernel_id": row["id"], "code_object_id": row["code_object_id"],
            "kernel_name": row["kernel_name"] or "", "kernel_object": row["kernel_object"] or 0,
            "kernarg_segment_size": row["kernarg_segment_size"] or 0,
            "kernarg_segment_alignment": row["kernarg_segment_alignment"] or 0,
            "group_segment_size": row["group_segment_size"] or 0,
            "private_segment_size": row["private_segment_size"] or 0, "sgpr_count": row["sgpr_count"] or 0,
            "arch_vgpr_count": row["arch_vgpr_count"] or 0, "accum_vgpr_count": row["accum_vgpr_count"] or 0,
            "formatted_kernel_name": row["display_name"], "demangled_kernel_name": row["display_name"],
            "truncated_kernel_name": row["display_name"]}


def dispatch(row):
    xyz = lambda what: {c: row[f"{what}_size_{c}"] for c in "xyz"}
    return {"size": 64, "agent_id": agent_id(row["agent_id"]), "queue_id": {"handle": row["queue_id"]},
            "kernel_id": row["kernel_id"], "dispatch_id": row["dispatch_id"],
            "private_segment_size": row["private_segment_size"] or 0,
            "group_segment_size": row["group_segment_size"] or 0,
            "workgroup_size": xyz("workgroup"), "grid_size": xyz("grid")}


def times(row):
    return {"start_timestamp": row["start"], "end_timestamp": row["end"], "thread_id": row["tid"] or 0}


def correlation(row, with_ancestor=True):
    ids = {"internal": row["stack_id"] or 0, "external": row["correlation_id"] or 0}
    return {**ids, "ancestor": row["parent_stack_id"] or 0} if with_ancestor else ids


EVENT = "e.stack_id, e.parent_stack_id, e.correlation_id, e.extdata AS said"


def api_calls(db, kinds, messages):
    args = {}
    for a in rows(db, "SELECT * FROM rocpd_arg ORDER BY event_id, position"):
        args.setdefault(a["event_id"], []).append({"type": a.get("type") or "", "name": a["name"], "value": a["value"]})
    groups = {"hip_api": [], "hsa_api": [], "marker_api": [], "rccl_api": []}
    for r in rows(db, f"""SELECT r.*, s.string AS name, c.string AS category, {EVENT} FROM rocpd_region r
                          JOIN rocpd_event e ON e.id = r.event_id JOIN rocpd_string s ON s.id = r.name_id
                          LEFT JOIN rocpd_string c ON c.id = e.category_id ORDER BY r.id"""):
        category = r["category"] or "HIP_RUNTIME_API_EXT"
        group = next((g for g in groups if category.startswith(g.split("_")[0].upper())), "hip_api")
        record = {**kinds.of(category, r["name"]), "correlation_id": correlation(r), **times(r)}
        message = json.loads(r["said"] or "{}").get("message")
        if message is not None:
            messages[r["stack_id"]] = message
        if group == "hip_api":
            record.update(args=args.get(r["event_id"], []), retval={"uint64_t_retval": 0}, stream_id={"handle": 0})
        groups[group].append(record)
    return groups


def counted(db):
    values, records = {}, []
    for v in rows(db, "SELECT * FROM rocpd_pmc_event ORDER BY id"):
        values.setdefault(v["event_id"], []).append({"counter_id": {"handle": v["pmc_id"]}, "value": float(v["value"])})
    for d in rows(db, f"SELECT d.*, {EVENT} FROM rocpd_kernel_dispatch d JOIN rocpd_event e ON e.id = d.event_id"):
        if d["event_id"] in values:
            data = {"size": 1, "correlation_id": correlation(d, False), "start_timestamp": d["start"],
                    "end_timestamp": d["end"], "dispatch_info": dispatch(d)}
            records.append({"thread_id": d["tid"] or 0, "dispatch_data": data, "records": values[d["event_id"]],
                            "stream_id": {"handle": d["stream_id"]}})
    return records


def process(database):
    """What rocprofv3 writes for one process, with its parts in its order."""
    db = sqlite3.connect(database)
    kinds, messages = Kinds(), {}
    calls = api_calls(db, kinds, messages)
    kernels = [{**kinds.of("KERNEL_DISPATCH", "KERNEL_DISPATCH_COMPLETE"), "correlation_id": correlation(d, False),
                **times(d), "dispatch_info": dispatch(d), "stream_id": {"handle": d["stream_id"]}}
               for d in rows(db, f"""SELECT d.*, {EVENT} FROM rocpd_kernel_dispatch d
                                     JOIN rocpd_event e ON e.id = d.event_id ORDER BY d.id""")]
    copies = [{**kinds.of("MEMORY_COPY", c["name"]), "correlation_id": correlation(c, False), **times(c),
               "dst_agent_id": agent_id(c["dst_agent_id"]), "src_agent_id": agent_id(c["src_agent_id"]),
               "bytes": c["size"], "stream_id": {"handle": c["stream_id"]}}
              for c in rows(db, f"""SELECT c.*, s.string AS name, {EVENT} FROM rocpd_memory_copy c
                                    JOIN rocpd_event e ON e.id = c.event_id JOIN rocpd_string s ON s.id = c.name_id
                                    ORDER BY c.id""")]
    info = rows(db, "SELECT * FROM rocpd_info_process")[0]
    node = rows(db, "SELECT * FROM rocpd_info_node")
    names = ("machine_id", "system_name", "hostname", "release", "version", "hardware_name", "domain_name")
    counters = [{"agent_id": agent_id(p["agent_id"] or 0), "id": {"handle": p["id"]}, "name": p["name"]}
                for p in rows(db, "SELECT * FROM rocpd_info_pmc") for _ in range(2)]  # one per GPU
    numbers = counted(db)
    ret = {
        "metadata": {**({"node": {k: node[0].get(k) or "" for k in names}} if node else {}), "pid": info["pid"],
                     "init_time": info["init"] or 0, "fini_time": info["fini"] or 0,
                     "command": (info["command"] or "").split(" "), "config": {"json_output": True}},
        "agents": [agent(a) for a in rows(db, "SELECT * FROM rocpd_info_agent")],
        "counters": counters,
        "strings": {"callback_records": [{"kind": "NONE", "operations": []}], "buffer_records": kinds.kinds,
                    "marker_api": [{"key": k, "value": v} for k, v in messages.items()],
                    "correlation_id": {"external": []}, "counters": {"dimension_ids": []}},
        "code_objects": [{"size": 0, "code_object_id": 0, "agent_id": {"handle": 0}, "uri": ""}] +
                        [{"size": 88, "code_object_id": o["id"], "agent_id": agent_id(o["agent_id"]), "uri": o["uri"] or "",
                          "load_base": o["load_base"] or 0, "load_size": o["load_size"] or 0,
                          "load_delta": o["load_delta"] or 0, "storage_type": 2}
                         for o in rows(db, "SELECT * FROM rocpd_info_code_object")],
        "kernel_symbols": [{"size": 0, "kernel_id": 0, "code_object_id": 0, "kernel_name": ""}] +
                          [kernel(k) for k in rows(db, "SELECT * FROM rocpd_info_kernel_symbol")],
        "host_functions": [],
        "summary": [{"domain": "KERNEL_DISPATCH", "stats": {"total": {"count": len(kernels)}}}],
        "callback_records": {"counter_collection": numbers},
        # with counters alone there is no trace of kernels
        "buffer_records": {"kernel_dispatch": [] if len(numbers) == len(kernels) else kernels, **calls,
                           "memory_copy": copies, "memory_allocation": [], "scratch_memory": []},
    }
    db.close()
    return ret


def write(path, processes, indent=0):
    with open(path, "w") as f:
        json.dump({"rocprofiler-sdk-tool": processes}, f, indent=indent, ensure_ascii=False)


def mixed(part, rng):
    """The same object with its members in another order."""
    if isinstance(part, dict):
        keys = list(part)
        rng.shuffle(keys)
        return {k: mixed(part[k], rng) for k in keys}
    return [mixed(p, rng) for p in part] if isinstance(part, list) else part


def without_names(node):
    """JSON does not have the environment, and so no rank."""
    if isinstance(node, dict):
        return {k: without_names(v) for k, v in node.items() if k not in ("guid", "rank")}
    return [without_names(v) for v in node] if isinstance(node, list) else node


def analyze(program, what, *paths):
    run = subprocess.run([program, "analyze", *what, *paths], capture_output=True, text=True, timeout=120)
    if run.returncode not in (0, 3):
        sys.exit(f"{paths}: status {run.returncode}: {run.stderr[-2000:]}")
    return without_names(json.loads(run.stdout)) if run.returncode == 0 else run.stderr


def differing(a, b, path=""):
    if isinstance(a, dict) and isinstance(b, dict):
        return next((d for k in sorted({*a, *b}) if (d := differing(a.get(k), b.get(k), f"{path}.{k}"))), None)
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next((d for i, (x, y) in enumerate(zip(a, b)) if (d := differing(x, y, f"{path}[{i}]"))), None)
    return None if a == b else f"{path}: {a} instead of {b}"


class Check:
    def __init__(self, program):
        self.program, self.runs, self.wrong = program, 0, []

    def same(self, name, databases, paths, kinds):
        for what in kinds:
            want = analyze(self.program, what, *databases)
            got = analyze(self.program, what, *paths)
            self.runs += 1
            difference = differing(got, want)
            if difference or isinstance(want, str):
                self.wrong.append(f"{name} {what[0]}: {difference or want}"[:400])


DAG, RANKING, ROOFLINE = ["--json", "--full"], ["--analysis"], ["--roofline"]


def generated(check, home, here):
    for options in ([], ["--threads", "2", "--null-p", "0.05"], ["--ranges", "--threads", "2"], ["--trap", "nohip"],
                    ["--ranks", "3"], ["--ranks", "2", "--nodes", "2", "--skew-ns", "1234567", "--coll-every", "20"]):
        base = os.path.join(home, "t")
        subprocess.run([sys.executable, os.path.join(here, "gen_trace.py"), "-n", "300", "--seed", "5", "-o", base, *options],
                       check=True, stdout=subprocess.DEVNULL)
        databases = sorted(glob.glob(base + "*.db"))
        processes = [process(d) for d in databases]
        files = []
        for n, one in enumerate(processes):
            files.append(os.path.join(home, f"{n}_results.json"))
            write(files[-1], [mixed(one, random.Random(n)) if n % 2 else one], indent=n)
        check.same(f"{options} a file each", databases, files, [DAG, RANKING])
        write(os.path.join(home, "all.json"), processes, indent=None)
        check.same(f"{options} one file", databases, [os.path.join(home, "all.json")], [DAG])
        for f in databases + files:
            os.remove(f)


def real(check, home, data):
    for database in sorted(glob.glob(os.path.join(data, "*.db"))):
        folder = os.path.join(home, "folder", "host")
        os.makedirs(folder)
        name = os.path.basename(database)
        one = process(database)
        write(os.path.join(folder, "7_results.json"), [one])
        kinds = [DAG, RANKING] + ([ROOFLINE] if one["counters"] else [])
        check.same(name, [database], [os.path.join(home, "folder")], kinds)
        # Files of before 7.0: what made a call is seen from the times.
        for group in one["buffer_records"].values():
            for record in group:
                record["correlation_id"].pop("ancestor", None)
        write(os.path.join(folder, "7_results.json"), [one])
        check.same(name + " without ancestors", [database], [os.path.join(home, "folder")], [DAG])
        shutil.rmtree(os.path.join(home, "folder"))


def refused(check, what, words, *paths):
    """Status 3, and a message that has all the words and names the first file."""
    run = subprocess.run([check.program, "analyze", *paths], capture_output=True, text=True, timeout=60)
    check.runs += 1
    if run.returncode != 3 or not all(w in run.stderr for w in [os.path.basename(paths[0]), *words]):
        check.wrong.append(f"{what}: status {run.returncode}: {run.stderr[-300:]}")


def twice(check, home, data):
    """One process in a file twice, and a copy of a file; two processes of one pid are no such thing."""
    one = process(os.path.join(data, "streams-hip_results.db"))
    later = copy.deepcopy(one)
    for group in later["buffer_records"].values():
        for record in group:
            record["start_timestamp"] += 1
            record["end_timestamp"] += 1
    a, b = (os.path.join(home, f"{n}_results.json") for n in "ab")
    write(a, [one])
    shutil.copy(a, b)
    refused(check, "a copy", ["given twice", "b_results.json"], a, b)
    refused(check, "a file twice", ["given twice"], a, a)
    write(b, [later])
    if isinstance(got := analyze(check.program, ["--json"], a, b), str):
        check.wrong.append(f"a nanosecond later: {got}")
    write(b, [later, one, later])
    refused(check, "twice in a file", ["given twice", "#3"], b)
    os.remove(a)
    os.remove(b)


def endings(check, home, data):
    """Behind the document there may be white space, and nothing else."""
    path = os.path.join(home, "e_results.json")
    one = process(os.path.join(data, "streams-hip_results.db"))
    for processes in ([one], one):
        write(path, processes)
        with open(path) as f:
            text = f.read()
        for more, words in ((" \n\t\r\n", None), ("xx", ["goes on"]), ("\0", ["goes on"]), ("}", ["goes on"]),
                            (text, ["goes on"]), ("\n" * 70000 + "[]", ["goes on"])):
            with open(path, "w") as f:
                f.write(text + more)
            if words:
                refused(check, f"{more[-9:]!r} behind the end", words, path)
            elif isinstance(got := analyze(check.program, ["--json"], path), str):
                check.wrong.append(f"white space behind the end: {got}")
        for more, words in ((', "more": [1, {}]}', None), (text.replace("{", ", ", 1), ["twice"])):
            with open(path, "w") as f:
                f.write(text[:-1] + more)
            if words:
                refused(check, "a second list", words, path)
            elif isinstance(got := analyze(check.program, ["--json"], path), str):
                check.wrong.append(f"another member: {got}")
    os.remove(path)


def large(check, home, data):
    """Numbers that need all 64 bits are handles and addresses; no time and no count is that large."""
    path = os.path.join(home, "l_results.json")
    whole = process(os.path.join(data, "streams-hip_results.db"))
    for group, field in (("kernel_dispatch", "start_timestamp"), ("kernel_dispatch", "end_timestamp"),
                         ("hip_api", "start_timestamp"), ("hip_api", "kind"), ("memory_copy", "end_timestamp"),
                         ("memory_copy", "bytes"), ("kernel_dispatch", "thread_id")):
        for number in (2**63, 2**64 - 1):
            spoilt = copy.deepcopy(whole)
            spoilt["buffer_records"][group][0][field] = number
            write(path, [spoilt])
            refused(check, f"{field} {number}", [f"{group}[0]", field, str(number)], path)
    spoilt = copy.deepcopy(whole)
    spoilt["metadata"]["pid"] = 2**63
    write(path, [spoilt])
    refused(check, "pid", ["metadata", str(2**63)], path)
    for copied in whole["buffer_records"]["memory_copy"]:
        copied.update(dst_address=2**64 - 1, src_address={"handle": 2**63})
    for loaded in whole["code_objects"][1:]:
        loaded.update(load_base=2**63, load_delta=2**64 - 1)
    for symbol in whole["kernel_symbols"][1:]:
        symbol.update(kernel_object=2**64 - 64)
    write(path, [whole])
    if isinstance(got := analyze(check.program, ["--json"], path), str):
        check.wrong.append(f"large addresses: {got}")
    os.remove(path)


def fields(part, path=()):
    """Every place in the trace, but of long lists only the first two members."""
    if isinstance(part, dict):
        for k, v in part.items():
            yield path + (k,)
            yield from fields(v, path + (k,))
    if isinstance(part, list):
        for i, v in enumerate(part[:2]):
            yield path + (i,)
            yield from fields(v, path + (i,))


SPOILT = ["", "x", -1, 2**63, 2**64 - 1, 1.5, float("nan"), None, [], {}, [[]], True]


def damaged(check, home, data):
    rng = random.Random(1)
    whole = {"rocprofiler-sdk-tool": [process(os.path.join(data, "streams-hip_results.db"))]}
    for group in whole["rocprofiler-sdk-tool"][0]["buffer_records"].values():
        del group[4:]
    places = list(fields(whole))
    path = os.path.join(home, "d_results.json")
    ended = {0: 0, 3: 0}
    texts = []
    for place in rng.sample(places, 160):
        part = spoilt = copy.deepcopy(whole)
        for step in place[:-1]:
            part = part[step]
        if rng.random() < 0.4:
            del part[place[-1]]
        else:
            part[place[-1]] = rng.choice(SPOILT)
        texts.append(json.dumps(spoilt).encode())
    text = json.dumps(whole).encode()
    texts += [text[:rng.randrange(len(text))] for _ in range(40)]
    for _ in range(40):
        at = rng.randrange(len(text))
        texts.append(text[:at] + bytes([rng.randrange(256)]) + text[at + 1:])
    for text in texts:
        with open(path, "wb") as f:
            f.write(text)
        run = subprocess.run([check.program, "analyze", "--json", path], capture_output=True, timeout=60)
        check.runs += 1
        if run.returncode not in ended or (run.returncode == 3 and path.encode() not in run.stderr):
            check.wrong.append(f"status {run.returncode}: {run.stderr[-300:]}")
            shutil.copy(path, f"/tmp/json-trace-{check.runs}.json")
        else:
            ended[run.returncode] += 1
    if min(ended.values()) < 20:
        check.wrong.append(f"the damage is of one kind: {ended}")


def main():
    program, folder, data = sys.argv[1:]
    home = os.path.join(folder, f"j{os.getpid()}")
    os.makedirs(home)
    check = Check(program)
    generated(check, home, os.path.dirname(os.path.abspath(__file__)))
    real(check, home, data)
    twice(check, home, data)
    endings(check, home, data)
    large(check, home, data)
    damaged(check, home, data)
    shutil.rmtree(home)
    print("\n".join(check.wrong) or f"{check.runs} traces, the same results")
    sys.exit(bool(check.wrong))


if __name__ == "__main__":
    main()
