#!/usr/bin/env python3
"""Twenty jobs add results to one history at once, and some are killed in the middle: nothing is lost, and nothing half.

usage: history_jobs.py ROCM_PERF DATABASE RESULT SEED
RESULT is a profile.json, of which each job adds some with other times, one command for each.
"""
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

JOBS, EACH = 20, 5


def results_of(path, folder):
    """Files of results, a list for each job; each has a time that no other has."""
    text = open(path).read()
    assert "3.001693" in text
    files = []
    for job in range(JOBS):
        files.append([])
        for n in range(EACH):
            name = os.path.join(folder, f"job{job}-{n}.json")
            with open(name, "w") as f:
                f.write(text.replace("3.001693", f"3.{job:02}{n}693"))
            files[-1].append(name)
    return files


def export(program, database):
    out = subprocess.run([program, "history", "export", "--db", database], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


class Job(threading.Thread):
    """A job adds its results one after the other, and is killed after some seconds, or not."""

    def __init__(self, program, database, number, files, kill_after):
        super().__init__()
        self.argv = [program, "history", "add", "--db", database, "--program", f"job{number}", "--commit", f"c{number}"]
        self.files, self.kill_after, self.done, self.error = files, kill_after, 0, None

    def run(self):
        end = None if self.kill_after is None else time.monotonic() + self.kill_after
        for name in self.files:
            child = subprocess.Popen(self.argv + [name], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                err = child.communicate(timeout=None if end is None else max(0, end - time.monotonic()))[1]
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
                child.communicate()
                return
            if child.returncode != 0:
                self.error = err.decode(errors="replace")
                return
            self.done += 1


def at_once(program, database, files, kills):
    jobs = [Job(program, database, n, files[n], kills[n]) for n in range(JOBS)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    errors = [job.error for job in jobs if job.error]
    assert not errors, f"{len(errors)} jobs failed: {errors[0]}"
    return jobs


def whole(rows):
    """Each result has what every one of them has; none is there twice."""
    shapes = {json.dumps([[len(t["runs_ms"]), t["kernel"]] for t in row["times"]]) for row in rows}
    assert len(shapes) <= 1, f"results differ in their times: {shapes}"
    times = [json.dumps(row["times"]) for row in rows]
    assert len(set(times)) == len(times), "a result is there twice"


def main():
    program, database, result, seed = sys.argv[1:]
    rng = random.Random(int(seed))
    files = results_of(result, os.getcwd())
    begin = time.monotonic()
    at_once(program, database, [of[:1] for of in files], [None] * JOBS)  # They all make the tables.
    one = (time.monotonic() - begin) / JOBS
    # All together take about twice as long: so most of the killed are in the middle of something.
    kills = [rng.uniform(0, one * EACH * JOBS / 2) if n % 2 else None for n in range(JOBS)]
    jobs = at_once(program, database, files, kills)
    rows = export(program, database)
    whole(rows)
    killed = sum(job.done < EACH for job in jobs)
    for n, job in enumerate(jobs):
        there = sum(row["program"] == f"job{n}" for row in rows)
        # The one that was killed may have been kept, or not.
        assert job.done <= there <= min(job.done + 1, EACH), f"job {n} added {job.done} results, and {there} are there"
    at_once(program, database, files, [None] * JOBS)
    rows = export(program, database)
    whole(rows)
    assert len(rows) == JOBS * EACH, f"{len(rows)} results instead of {JOBS * EACH}"
    for n in range(JOBS):
        ids = [row["id"] for row in rows if row["program"] == f"job{n}"]
        assert ids == sorted(ids) and len(ids) == EACH, f"job {n}: {ids}"
    print(f"{killed} of {JOBS} jobs were killed in between; all {len(rows)} results are there")
    assert killed, "no job was killed before its end: the test says nothing"


main()
