"""Writes PC samples as rocprofv3 writes them (docs/format/rocpd.md), with numbers that are easy to check.

saxpy ran as dispatches 1 and 2, hot as 3; of dispatch 9 nothing tells which kernel it was.
"""
import csv
import gzip
import json
import os
import sqlite3

FULL, TYPE = 2**64 - 1, "ROCPROFILER_PC_SAMPLING_INSTRUCTION_TYPE_"
REASON = "ROCPROFILER_PC_SAMPLING_INSTRUCTION_NOT_ISSUED_REASON_"
COMMON = ["Sample_Timestamp", "Exec_Mask", "Dispatch_Id", "Instruction", "Instruction_Comment", "Correlation_Id"]
MORE = ["Wave_Issued_Instruction", "Instruction_Type", "Stall_Reason", "Wave_Count"]
WAIT, LOAD, FMA = (
    ("s_waitcnt vmcnt(0)", "/home/me/a.hip:5", 0x1A40),
    ("global_load_dword v1, v[2:3], off", "/opt/rocm/include/hip/h.h:9 -> /home/me/a.hip:4", 0x1A38),
    ("v_fma_f32 v0, v1, v2, v0", "/home/me/a.hip:20", 0x1B00),
)
UNKNOWN = ("", "Unrecognized code object id, physical virtual address of PC:140000", 140000)
# dispatch, instruction, mask, issued, reason
SAMPLES = (
    [(1, WAIT, FULL, 0, "WAITCNT")] * 4
    + [(2, WAIT, FULL, 0, "WAITCNT"), (2, WAIT, FULL, 1, "NONE")]
    + [(1, LOAD, 0xFF, 0, "ARBITER_NOT_WIN"), (2, LOAD, 0xFF, 1, "OTHER_WAIT"), (2, LOAD, 0xFF, 1, "NONE")]
    + [(2, UNKNOWN, FULL, 1, "NONE")]
    + [(3, FMA, 1, 1, "NONE")] * 3
    + [(3, FMA, 1, 0, "ALU_DEPENDENCY"), (9, FMA, 1, 1, "NONE")]
)
KERNELS = {1: "saxpy(float*, float)", 2: "saxpy(float*, float)", 3: "hot(float*)"}


def row(at, sample, stochastic):
    dispatch, (isa, comment, _), mask, issued, reason = sample
    cells = [1000 + at, mask, dispatch, isa, comment, dispatch]
    return cells + ([issued, TYPE + "VALU", REASON + reason, 4] if stochastic else [])


def write_csv(path, stochastic, rows):
    with open(path, "w", newline="") as out:
        csv.writer(out, quoting=csv.QUOTE_NONNUMERIC).writerows([COMMON + (MORE if stochastic else [])] + rows)


def record(at, sample, stochastic, texts):
    dispatch, (isa, _, offset), mask, issued, reason = sample
    of = {
        "hw_id": {"chiplet": 0, "wave_id": 0, "simd_id": 2, "cu_or_wgp_id": 1},
        "pc": {"code_object_id": 2 if isa else 0, "code_object_offset": offset},
        "exec_mask": mask,
        "timestamp": 1000 + at,
        "dispatch_id": dispatch,
        "corr_id": {"internal": dispatch, "external": 0},
        "wrkgrp_id": {"x": at, "y": 0, "z": 0},
        "wave_in_grp": 0,
    }
    if stochastic:
        of.update(wave_issued=issued, inst_type=TYPE + "VALU", wave_cnt=4, snapshot={"stall_reason": REASON + reason})
    return {"record": of, "inst_index": texts.index(isa) if isa else -1}


def document(samples):
    known = [WAIT, LOAD, FMA]
    texts = [k[0] for k in known]
    names = sorted(set(KERNELS.values()))
    return {
        "metadata": {"pid": 7, "init_time": 1, "fini_time": 9000},
        "agents": [{"id": {"handle": 5}, "node_id": 1, "logical_node_id": 1, "type": 2, "name": "gfx942"}],
        "strings": {"pc_sample_instructions": texts, "pc_sample_comments": [k[1] for k in known]},
        "code_objects": [],
        "kernel_symbols": [
            {"kernel_id": n, "code_object_id": 0, "kernel_name": name, "formatted_kernel_name": name}
            for n, name in enumerate(names, 1)
        ],
        "buffer_records": {
            "kernel_dispatch": [
                {
                    "start_timestamp": 100 * d,
                    "end_timestamp": 100 * d + 50,
                    "correlation_id": {"internal": d},
                    "dispatch_info": {
                        "dispatch_id": d,
                        "kernel_id": names.index(name) + 1,
                        "agent_id": {"handle": 5},
                        "queue_id": {"handle": 1},
                    },
                }
                for d, name in KERNELS.items()
            ],
            "pc_sample_host_trap": [record(i, s, False, texts) for i, s in enumerate(samples)],
            "pc_sample_stochastic": [record(i, s, True, texts) for i, s in enumerate(samples)],
        },
    }


def write_json(path, process):
    text = json.dumps({"rocprofiler-sdk-tool": [process]})
    opened = gzip.open if path.startswith("packed") else open
    with opened(path, "wt") as out:
        out.write(text)


def write_db(path):
    """The table of builds of rocprofv3 that have one, beside the tables that every database has."""
    db = sqlite3.connect(path)
    db.executescript(
        "CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY, guid, string);"
        "CREATE TABLE rocpd_info_process (id INTEGER PRIMARY KEY, guid, pid);"
        "CREATE TABLE rocpd_info_agent (id INTEGER PRIMARY KEY, guid, type, absolute_index, logical_index,"
        " type_index, name);"
        "CREATE TABLE rocpd_info_kernel_symbol (id INTEGER PRIMARY KEY, guid, code_object_id, kernel_name,"
        " display_name, kernarg_segment_size, kernarg_segment_alignment, group_segment_size, private_segment_size,"
        " sgpr_count, arch_vgpr_count, accum_vgpr_count);"
        "CREATE TABLE rocpd_event (id INTEGER PRIMARY KEY, guid, stack_id, parent_stack_id);"
        "CREATE TABLE rocpd_kernel_dispatch (id INTEGER PRIMARY KEY, guid, agent_id, kernel_id, dispatch_id,"
        " queue_id, stream_id, start, end, event_id, tid, private_segment_size, group_segment_size,"
        " workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z);"
        "CREATE TABLE rocpd_pc_sampling (id INTEGER PRIMARY KEY, guid, method, timestamp, exec_mask, dispatch_id,"
        " instruction, instruction_comment, correlation_id, wave_issued_instruction, instruction_type, stall_reason,"
        " wave_count);"
        "INSERT INTO rocpd_info_process VALUES (1, 'g', 7);"
        "INSERT INTO rocpd_info_agent VALUES (1, 'g', 'GPU', 1, 1, 0, 'gfx942');"
    )
    names = sorted(set(KERNELS.values()))
    for n, name in enumerate(names):
        db.execute("INSERT INTO rocpd_info_kernel_symbol VALUES (?, 'g', 1, ?, ?, 8, 8, 0, 0, 8, 8, 0)", (n, name, name))
    for d, name in KERNELS.items():
        db.execute("INSERT INTO rocpd_event VALUES (?, 'g', ?, 0)", (d, d))
        db.execute(
            "INSERT INTO rocpd_kernel_dispatch VALUES (?, 'g', 1, ?, ?, 1, 1, ?, ?, ?"
            ", 7, 0, 0, 64, 1, 1, 64, 1, 1)",
            (d, names.index(name), d, 100 * d, 100 * d + 50, d),
        )
    for stochastic in False, True:
        for i, sample in enumerate(SAMPLES):
            cells = row(i, sample, stochastic)
            cells[1] -= 2**64 if cells[1] >= 2**63 else 0  # SQLite's integers have a sign.
            cells += [None] * 4 if not stochastic else []
            db.execute(
                "INSERT INTO rocpd_pc_sampling VALUES (NULL, 'g', ?" + ", ?" * 10 + ")",
                ["stochastic" if stochastic else "host_trap"] + cells,
            )
    db.commit()


def write_changed_db(path, change):
    write_db(path)
    db = sqlite3.connect(path)
    db.executescript(change)
    db.close()


def write_bad():
    good = [row(i, s, True) for i, s in enumerate(SAMPLES)]

    def changed(column, value):
        return good[:2] + [good[2][:column] + [value] + good[2][column + 1 :]]

    write_csv("bad/mask_pc_sampling_stochastic.csv", True, changed(1, "18446744073709551616"))
    write_csv("bad/issued_pc_sampling_stochastic.csv", True, changed(6, 2))
    write_csv("bad/reason_pc_sampling_stochastic.csv", True, changed(8, REASON + "MOONLIGHT"))
    with open("bad/column_pc_sampling_stochastic.csv", "w") as out:
        out.write(",".join(COMMON) + "\n")
    with open("7_pc_sampling_stochastic.csv") as whole, open("bad/truncated_pc_sampling_stochastic.csv", "w") as out:
        out.write(whole.read()[:700])
    evil = list(row(0, SAMPLES[0], False))
    evil[3], evil[4] = "s_nop \x1b[31m\x07 <script>", "/tmp/\x1b]0;title\x07:1"
    write_csv("bad/hostile_pc_sampling_host_trap.csv", False, [evil])
    process = document(SAMPLES)
    process["buffer_records"]["pc_sample_host_trap"][3]["inst_index"] = 3
    write_json("bad/index_results.json", process)
    process = document(SAMPLES)
    process["strings"]["pc_sample_comments"][1] = {"no": "text"}
    write_json("bad/text_results.json", process)
    process = document(SAMPLES)
    process["buffer_records"]["pc_sample_stochastic"][3]["record"]["wave_issued"] = "yes"
    write_json("bad/issued_results.json", process)
    write_changed_db("bad/column.db", "ALTER TABLE rocpd_pc_sampling RENAME COLUMN dispatch_id TO dispatch;")
    # 28 times this overflows no row, but a sum.
    write_changed_db("bad/sum.db", f"ALTER TABLE rocpd_pc_sampling ADD COLUMN samples DEFAULT {2**51};")


for folder in "json", "packed", "db", "bad":
    os.mkdir(folder)
for is_stochastic in False, True:
    write_csv(
        f"7_pc_sampling_{'stochastic' if is_stochastic else 'host_trap'}.csv",
        is_stochastic,
        [row(i, s, is_stochastic) for i, s in enumerate(SAMPLES)],
    )
with open("7_kernel_trace.csv", "w", newline="") as trace:
    writer = csv.writer(trace, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(
        "Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,Correlation_Id,"
        "Start_Timestamp,End_Timestamp".split(",")
    )
    for d, name in KERNELS.items():
        writer.writerow(["KERNEL_DISPATCH", "Agent 1", 1, 1, 7, d, 1, name, d, 100 * d, 100 * d + 50])
write_json("json/7_results.json", document(SAMPLES))
write_json("packed/7_results.json", document(SAMPLES))
write_db("db/7_results.db")
write_bad()
