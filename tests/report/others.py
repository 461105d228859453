"""OpenMetrics and JUnit of `rocm-perf`, read by the parsers of others. usage: others.py ROCM_PERF SOURCE

prometheus_client and junitparser are Debian's; 77: no Python here has them (./setup --check installs them).
"""
import os
import subprocess
import sys
import tempfile

try:
    import junitparser
    from prometheus_client.openmetrics import parser
except ImportError:
    debian = "/usr/bin/python3"  # whose packages another Python in $PATH does not see
    if not os.path.exists(debian) or os.path.realpath(sys.executable) == os.path.realpath(debian):
        print("skipped: no prometheus_client or junitparser; run ./setup --check")
        sys.exit(77)
    os.execv(debian, [debian] + sys.argv)

ROCM_PERF, SOURCE = sys.argv[1:]
TRACE = SOURCE + "/tests/data/rocpd/streams-hip_results.db"
COMPARED = SOURCE + "/tests/data/compare/"
HOSTILE = 'T "<1>" \\ | \n2 \\n ä'


def openmetrics(folder):
    path = os.path.join(folder, "a.prom")
    subprocess.run([ROCM_PERF, "report", "--title", HOSTILE, "--format", "openmetrics", "-o", path, TRACE], check=True)
    with open(path, newline="", encoding="utf-8") as file:
        text = file.read()
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    samples = [sample for family in families.values() for sample in family.samples]
    assert samples and all(sample.labels["title"] == HOSTILE for sample in samples), samples[:3]
    for family in families.values():
        assert family.type == ("info" if family.name == "rocm_perf_kernel" else "gauge"), family
        assert family.documentation, family
    info = families["rocm_perf_kernel"].samples
    assert [sample.labels["gpu"] for sample in info] == ["gfx942"] * 3 and all(s.labels["bottleneck"] for s in info), info
    assert all(0 < sample.value <= 512 for sample in families["rocm_perf_kernel_vgprs"].samples)
    calls, times = (families["rocm_perf_kernel_" + name].samples for name in ("calls", "time_seconds"))
    names = [sample.labels["kernel"] for sample in calls]
    assert len(names) == len(set(names)) == len(times) and families["rocm_perf_kernel_time_seconds"].unit == "seconds"
    whole = families["rocm_perf_end_to_end_seconds"].samples[0].value
    assert all(0 < sample.value <= whole for sample in times), (whole, times)
    parts = sum(sample.value for sample in families["rocm_perf_critical_path_seconds"].samples)
    assert abs(parts - whole) < 1e-9 + 1e-9 * whole, (parts, whole)
    try:  # it is a parser that refuses
        list(parser.text_string_to_metric_families(text.replace("# EOF\n", "")))
    except ValueError:
        return
    raise AssertionError("a text without its end was taken")


def junit(folder):
    path = os.path.join(folder, "a.xml")
    gates = ["--gate", "kernel:gemm:runtime<=1.02", "--gate", "runtime<=2"]
    done = subprocess.run([ROCM_PERF, "compare", COMPARED + "before.json", COMPARED + "after.json", "--allow-missing", "--junit", path] + gates,
                          stdout=subprocess.PIPE)
    assert done.returncode == 1, done
    (suite,) = junitparser.JUnitXml.fromfile(path)
    cases = {case.name: [type(result) for result in case.result] for case in suite}
    assert cases == {"kernel:gemm:runtime<=1.02": [junitparser.Failure], "runtime<=2": []}, cases
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (2, 1, 0, 0), suite
    subprocess.run([ROCM_PERF, "report", "--title", "T", "--format", "junit", "-o", path, TRACE], check=True)
    suites = list(junitparser.JUnitXml.fromfile(path))
    for suite in suites:
        seen = len(list(suite))
        assert suite.tests == seen > 0, (suite.tests, seen)


with tempfile.TemporaryDirectory() as folder:
    openmetrics(folder)
    junit(folder)
