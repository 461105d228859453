#!/usr/bin/env python3
"""Pictures of a page of `rocm-perf report`, light and dark: those in docs/images.

usage: tests/html/shot.py PAGE.html PREFIX [HEIGHT | SELECTOR [WIDTH]]     writes PREFIX-light.png and PREFIX-dark.png
"""
import sys

import browser


def main():
    page, prefix = sys.argv[1:3]
    part = sys.argv[3] if len(sys.argv) > 3 else "0"
    of = {"height": int(part)} if part.isdigit() else {"selector": part}
    with browser.Browser(int(sys.argv[4]) if len(sys.argv) > 4 else 1000, 900) as b:
        for name in ("light", "dark"):
            b.dark(name == "dark")
            b.open(page)
            b.picture(f"{prefix}-{name}.png", **of)
        for complaint in b.complaints:
            print(complaint, file=sys.stderr)
        return 1 if b.complaints else 0


sys.exit(main())
