#!/usr/bin/env python3
"""Checks JUnit XML with another parser, by the rules that Jenkins holds files to (junit-10.xsd).

usage: junit.py FILE FAILURES ERRORS [NAME]
Elements and attributes are among those that the schema allows where they stand, what it requires is there,
the counts of each suite are those of its cases, no two cases have the same class and name, FAILURES and ERRORS
are those of the whole, and some case is called NAME. Prints what is wrong, or the number of cases.
"""
import re
import sys
import xml.etree.ElementTree as tree

# Of each element: attributes it must have, others it may have, elements it may hold.
RULES = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors"},
                  {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
                  {"testsuite", "properties", "testcase", "system-out", "system-err"}),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": ({"name"}, {"time", "classname", "group"},
                 {"skipped", "error", "failure", "system-out", "system-err"}),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
    "system-out": (set(), set(), set()),
    "system-err": (set(), set(), set()),
}
MAY_HAVE_TEXT = {"failure", "error", "skipped", "system-out", "system-err"}
SECONDS = {"testcase": re.compile(r"[0-9]+(\.[0-9]*)?"), "testsuite": re.compile(r"[0-9]+(\.[0-9]{0,3})?")}


def check_element(element, wrong):
    must, may, children = RULES[element.tag]
    has = set(element.attrib)
    if must - has:
        wrong.append(f"{element.tag} lacks {sorted(must - has)}")
    if has - must - may:
        wrong.append(f"{element.tag} has {sorted(has - must - may)}")
    if "time" in has and not SECONDS[element.tag].fullmatch(element.get("time")):
        wrong.append(f"{element.tag}: time {element.get('time')}")
    if element.tag not in MAY_HAVE_TEXT and (element.text or "").strip():
        wrong.append(f"{element.tag} has text")
    for child in element:
        if child.tag not in children:
            wrong.append(f"{element.tag} has an element {child.tag}")
        else:
            check_element(child, wrong)
        if (child.tail or "").strip():
            wrong.append(f"{element.tag} has text after {child.tag}")


def check_counts(suite, wrong):
    cases = suite.findall("testcase")
    seen = {"tests": len(cases)}
    for key, element in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        seen[key] = sum(case.find(element) is not None for case in cases)
    for key, count in seen.items():
        if suite.get(key) != str(count):
            wrong.append(f"suite {suite.get('name')}: {key} is {suite.get(key)}, counted {count}")
    names = [(case.get("classname"), case.get("name")) for case in cases]
    for name in sorted({name for name in names if names.count(name) > 1}):
        wrong.append(f"two cases are {name}")


def main():
    path, failures, errors = sys.argv[1:4]
    root = tree.parse(path).getroot()
    wrong = [] if root.tag == "testsuites" else [f"the root is {root.tag}"]
    check_element(root, wrong)
    for suite in root.iter("testsuite"):
        check_counts(suite, wrong)
    for element, count in (("failure", failures), ("error", errors)):
        if len(list(root.iter(element))) != int(count):
            wrong.append(f"{len(list(root.iter(element)))} {element}s, expected {count}")
    names = [case.get("name") for case in root.iter("testcase")]
    wrong += [f"no case is called {name!r}" for name in sys.argv[4:] if name not in names]
    print("\n".join(wrong) or f"{len(names)} cases")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
