"""The page of `rocm-perf history page`."""
import os
import re
import subprocess


def run(b, rocm_perf, data, scratch, hostile, check, loads):
    """Whole without a script, in the system's colours with and without one, and no name acts."""
    history, page = os.path.join(scratch, "history.db"), os.path.join(scratch, "history.html")
    made = os.path.join(scratch, "result.json")
    with open(os.path.join(data, "few.json")) as file:
        text = file.read()
    for day in range(1, 11):
        with open(made, "w") as file:
            file.write(text.replace("3.001693", f"{3.4 if day > 8 else 3.0}0{day * 7 % 5}").replace("2.996868", "3.41" if day > 8 else "3.01").replace("3.01458", "3.405" if day > 8 else "3.005"))
        subprocess.run([rocm_perf, "history", "add", "--db", history, "--program", hostile, "--commit", hostile + str(day), "--at", f"2026-11-{day:02}T00:00:00Z", made],
                       check=True, stdout=subprocess.DEVNULL)
    subprocess.run([rocm_perf, "history", "page", "--db", history, "-o", page], check=True)
    bare = os.path.join(scratch, "history-bare.html")
    with open(page) as file, open(bare, "w") as to:
        to.write(re.sub(r"<script>.*</script>", "", file.read(), flags=re.S))
    back = "getComputedStyle(document.body).backgroundColor"
    for script in (True, False):
        seen = []
        for dark in (False, True):
            b.dark(dark)
            if script:
                loads(b, page)
            else:
                b.open(bare)
                check("the console complains:", not b.complaints, b.complaints)
            seen.append(b.run(back))
            shown = b.run("document.querySelector('#theme').getClientRects().length")
            check("the button that needs a script:", (shown > 0) == script, (script, shown))
            charts = b.run("[...document.querySelectorAll('svg.times')].map(s => { const r = s.getBoundingClientRect(); return [r.width > 500, r.height > 80, s.querySelectorAll('.s').length, s.querySelectorAll('.d').length]; })")
            check("not two charts with a change:", charts == [[True, True, 1, 1]] * 2, charts)
            fits = b.run("[...document.querySelectorAll('svg.times')].every(s => [...s.querySelectorAll('text')].every(t => { const r = t.getBoundingClientRect(), o = s.getBoundingClientRect(); return r.left >= o.left - 1 && r.right <= o.right + 1 && r.bottom <= o.bottom + 1 && r.top >= o.top - 1; }))")
            check("a label is cut off", fits)
        check("light and dark are the same:", len(set(seen)) == 2, seen)
        sentence = b.run("document.querySelector('.changes li').innerText")
        check("the sentence of the change:", "all kernels: 13." in sentence and "% slower since" in sentence and hostile in sentence, sentence)
        check("a name became markup", b.run("document.querySelectorAll('main img, main b, main script').length") == 0 and b.run("document.body.dataset.owned") is None)
    b.dark(False)
