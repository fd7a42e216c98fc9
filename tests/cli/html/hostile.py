# SPDX-License-Identifier: MIT
"""A database whose every text is an attack on a page (argv[1]), and a look at what became of it (--check PAGE)."""
import os
import subprocess
import sys

from page import Page

EVIL = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>'\"&amp;\n\t\x1b[31m\u202e\u2028${x}\\u003c"
LONG = "n" * 10000 + "</SCRIPT>"


def make(path):
    """run.sql with hostile texts everywhere; one that is not UTF-8."""
    columns = os.environ["SRC"] + "/libcommon/snapshot/columns"
    sql = subprocess.run([columns, "schema"], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    with open(os.environ["SRC"] + "/tests/cli/report/run.sql", encoding="utf-8") as f:
        sql += f.read()
    quoted = "'" + EVIL.replace("'", "''") + "'"
    sql += f"""
	UPDATE frame SET function = {quoted} || id, file = {quoted} WHERE id % 3 = 0; UPDATE frame SET function = '{LONG}' WHERE id % 3 = 1;
	UPDATE frame SET function = CAST(x'ff80' || {quoted} AS TEXT) WHERE id % 3 = 2; UPDATE module SET path = '/x/' || {quoted};
	UPDATE thread SET name = {quoted}; UPDATE mark SET name = {quoted}; UPDATE site SET verdict = {quoted}, one_time = {quoted};
	UPDATE snapshot SET label = {quoted} WHERE label = '1.5s';
	UPDATE process SET exe = '/bin/' || {quoted}, command = json_array('/bin/' || {quoted}, {quoted}), host = {quoted}, cwd = {quoted}, allocator = {quoted},
	trace = {quoted};"""
    subprocess.run(["sqlite3", path], input=sql, text=True, check=True, stdout=subprocess.DEVNULL)


def check(path):
    """The page has all of it, and nothing of it acts."""
    page = Page(path)
    bad = page.faults()
    texts = page.json["strings"] + page.json["who"] + page.structure.texts["h1"] + page.structure.texts["code"] + page.structure.texts["pre"]
    for want in ("<script>alert(1)</script><!--<img src=x onerror=alert(2)>'\"&amp;\\x0a\\x09\\x1b[31m\\u{202e}", "n" * 10000 + "</SCRIPT>", "\\xff\\x80</script>"):
        if not any(want in t for t in texts):
            bad.append(f"not shown: {want:.80}")
    if any(c < " " or c == "\x7f" for t in page.json["strings"] for c in t):
        bad.append("control characters in the data")
    print("\n".join(bad))
    sys.exit(bool(bad))


if sys.argv[1] == "--check":
    check(sys.argv[2])
make(sys.argv[1])
