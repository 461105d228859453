# The page of a history: what it says is there without a script, names of others are text, commits have the subjects
# that the repository at hand knows, the last change comes first, and thousands of results make no larger page.
. "$(dirname "$0")/../lib.sh"
data=$SOURCE/tests/data/compare
evil=$(printf '<script>alert(1)</script>"\047&amp; \033[31mred\033[0m \342\200\256rtl \xff')

# read_page FILE: its text, and fails for what could act: an element, an attribute or a character that is not the page's own.
read_page() {
    python3 - "$1" <<'END' || fail "the page $1"
import html.parser, re, sys
class Page(html.parser.HTMLParser):
    scripts, where, text, ids, links = 0, [], [], set(), set()
    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        assert tag in "html head meta title style body a header div h1 h2 h3 button main p br section table caption thead tbody tr th td ul li span svg path text circle details summary footer script".split(), tag
        for name, value in attributes:
            assert not name.startswith("on") and name not in ("src", "style"), (tag, name)
            assert name != "href" or value[0] == "#", value
            self.ids |= {value} if name == "id" else set()
            self.links |= {value[1:]} if name == "href" else set()
        self.where.append(tag)
    def handle_data(self, data):
        if self.where and self.where[-1] not in ("script", "style"):
            self.text.append(data)
page = Page()
text = open(sys.argv[1], encoding="utf-8").read()
page.feed(text)
assert page.scripts == 1, page.scripts
assert page.links <= page.ids, page.links - page.ids
assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", text)
print("".join(page.text))
END
}

# --- one change, and a repository that knows its commits ---------------------------------------------------------
git init -q repository && cd repository
git config user.name t && git config user.email t@localhost
for day in 01 02 03 04 05 06 07 08 09 10; do
    git commit -q --allow-empty -m "day $day: <i>$evil</i>" 2>err # a byte of it is no UTF-8
    base=3.0
    [ "$day" -lt 09 ] || base=3.4
    sed "s/3\.001693/${base}0$((10#$day * 7 % 5))/; s/2\.996868/${base}1/; s/3\.01458/${base}05/; s|reduce(float\*)|<b>k</b>|" \
        "$data/few.json" >../r.json
    expect 0 rocm-perf history add --db ../h.db --program "app $evil" --config "branch=a|$evil" --at "2026-11-${day}T00:00:00Z" ../r.json
    [ "$day" != 05 ] || expect 0 rocm-perf history add --db ../h.db --program steady --at 2026-11-05T00:00:00Z ../r.json
done
since=$(git rev-parse --short=8 HEAD~1)
expect 0 rocm-perf history page --db ../h.db --margin 2 -o ../page.html
read_page ../page.html >../text
grep -qF "All kernels of app <script>alert(1)</script>\"'&amp; \\x1b[31mred\\x1b[0m \\u202ertl" ../text || fail "the name in the verdict: $(cat ../text)"
grep -Eq "^.* all kernels: 13\.[0-9] % slower since $since \(3\.0[0-9]+ -> 3\.4[0-9]+ ms\) day 09: <i><script>alert" ../text || fail "the sentence: $(cat ../text)"
grep -q 'result 10 of 2026-11-09T00:00:00Z' ../text || fail 'the result of the change'
# The commit of the change is on the axis, with its day.
grep -q ">$since</text><text[^>]*>2026-11-09</text>" ../page.html || fail 'the axis'
[ "$(grep -c '<section class="half series"' ../page.html)" = 4 ] || fail 'number of charts'
[ "$(sed -n 's/.*class="half series".*id="s\([0-9]*\)-title">.*class="verdict \([a-z]*\)".*/\1 \2/p' ../page.html | tr '\n' ,)" = '1 slower,2 slower,3 undecided,4 undecided,' ] ||
    fail 'the last change is not first'
# Elsewhere commits have no names, and a folder that is no repository is no mistake.
cd ..
GIT_CEILING_DIRECTORIES=$PWD expect 0 rocm-perf history page --db h.db --kernel '<b>*' -o other.html
read_page other.html >text
! grep -q 'day 09' text || fail 'a subject of nowhere'
grep -q 'b>k</b>' text || fail 'the kernel'
[ "$(grep -c '<section class="half series"' other.html)" = 2 ] || fail '--kernel'
expect 3 rocm-perf history page --db h.db --program steadyy -o none.html
says err "did you mean 'steady'?"
[ ! -e none.html ] || fail 'a page of nothing'
expect 2 rocm-perf history page --db h.db -o h.db
expect 2 rocm-perf history page --db h.db --strict

# --- many results ------------------------------------------------------------------------------------------------
# many FILE RESULTS: one series of so many results, whose times jump at half.
many() {
    cp h.db "$1"
    python3 - "$1" "$2" <<'END'
import hashlib, random, sqlite3, sys
db, count = sqlite3.connect(sys.argv[1]), int(sys.argv[2])
db.text_factory = lambda text: text.decode(errors="replace")
columns = [c[1] for c in db.execute("PRAGMA table_info(result)")]
first = dict(zip(columns, db.execute("SELECT * FROM result").fetchone()))
db.execute("DELETE FROM times")
db.execute("DELETE FROM result")
random.seed(1)
for i in range(count):
    first.update(id=i + 1, hash=hashlib.sha256(b"%d" % i).hexdigest(), commit_id=hashlib.sha1(b"%d" % i).hexdigest(), program="app",
                 added="20%02d-%02d-%02dT00:00:00Z" % (10 + i // 336, i // 28 % 12 + 1, i % 28 + 1))
    db.execute(f"INSERT INTO result VALUES({','.join('?' * len(columns))})", [first[c] for c in columns])
    ms = [(1.2 if 2 * i >= count else 1) * (1 + random.gauss(0, 0.003)) for _ in range(5)]
    db.execute("INSERT INTO times(result, position, kernel, runtime_internal, launches, runs_ms) VALUES(?, 0, NULL, 0, 4, ?)", (i + 1, str(ms)))
db.commit()
END
    expect 0 rocm-perf history page --db "$1" -o "$1.html"
    read_page "$1.html" >"$1.text"
    grep -q ': 2[0-9]*\.[0-9] % slower since\|: 19\.[0-9] % slower since' "$1.text" || fail "the change of $1: $(head -40 "$1.text")"
}
many few.db 380
many much.db 5000
small=$(stat -c %s few.db.html) large=$(stat -c %s much.db.html)
[ "$large" -lt "$((small + 2000))" ] && [ "$large" -lt 80000 ] || fail "the page grows: $small bytes of 380 results, $large of 5,000"
