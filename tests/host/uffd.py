#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records programs that deliver pages of theirs themselves (tests/host/uffd.c): whoever read such a page while they are stopped would
wait for ever, and they with him."""
import os
import signal
import sqlite3
import subprocess
import sys

from checks import check, failures

BIN, TB = os.environ["BIN"], os.environ["TB"]
RECORD, PROGRAM = f"{BIN}/ms-record", f"{TB}/host/uffd"
FOR_EVER = 60
NOT_SCANNED = "not scanned: some of the program's memory could not be read; stopped for"


def run(*command):
    """Status and output; a hang is one, too."""
    try:
        r = subprocess.run(command, capture_output=True, text=True, timeout=FOR_EVER, check=False)
    except subprocess.TimeoutExpired:
        return "it hangs", ""
    return r.returncode, r.stdout


def scan_of(trace):
    subprocess.run([f"{BIN}/ms-snap", "--no-symbols", "-o", "t.db", trace], check=True)
    r = subprocess.run(["sqlite3", "t.db", "SELECT label, state FROM scan"], capture_output=True, text=True, check=True)
    return r.stdout.split()


def launched(how, want, *options):
    if os.path.exists("t.trace"):
        os.unlink("t.trace")
    got = run(RECORD, "-q", "--no-symbols", *options, "-o", "t.trace", PROGRAM, how)
    check(got == (3, "done\n"), f"launched {options}, {how}: {got}")
    check(scan_of("t.trace") == [f"end|{want}"], f"launched {options}, {how}: {scan_of('t.trace')}")


def tell(name, request, want):
    status, said = run(RECORD, "--tell", "t.trace", request)
    check(status == ("not scanned" in said) and want in said, f"{name}, {request}: {status} {said}")


def end(name, p):
    """It ends as ever, once its input has."""
    try:
        said = p.communicate(timeout=FOR_EVER)[0]
    except subprocess.TimeoutExpired:
        p.kill()
        said = "it hangs"
    check(said.endswith("done\n") and p.returncode == 3, f"{name}: {said} {p.returncode}")


def begin(*command):
    p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    check(p.stdout.readline() == "ready\n", f"{command} is not ready")
    return p


def told(how, want):
    """Launched, and asked while it runs."""
    p = begin(RECORD, "-q", "--no-symbols", "-o", "t.trace", PROGRAM, how, "wait")
    tell(f"launched, {how}", "leak-check", want)
    tell(f"launched, {how}", "resident", "RSS ")
    end(f"launched and asked, {how}", p)


def attach(how, want):
    """What became known of its heap: state, largest block, reason."""
    p = begin(PROGRAM, how, "wait")
    r = subprocess.Popen([RECORD, "-q", "--no-symbols", "-o", "t.trace", "-p", str(p.pid)])
    while run(RECORD, "--tell", "t.trace", "status")[0] and r.poll() is None:
        pass
    tell(f"attached, {how}", "leak-check", want)
    tell(f"attached, {how}", "resident", "RSS ")
    r.send_signal(signal.SIGTERM)
    try:
        check(r.wait(timeout=FOR_EVER) == 0, f"attached, {how}: ms-record ends with {r.returncode}")
    except subprocess.TimeoutExpired:
        check(False, f"attached, {how}: SIGTERM does nothing")
        r.kill()
    end(f"attached, {how}", p)
    subprocess.run([f"{BIN}/ms-snap", "--no-symbols", "-o", "t.db", "t.trace"], check=True)
    db = sqlite3.connect("t.db")
    found = db.execute("SELECT before, before_largest, before_why FROM process").fetchone()
    db.close()
    return found


def attached(how, want):
    """On a machine so busy that whoever delivers has no processor for half a second, or the walk for four, it gives up: then once more."""
    for _ in range(5):
        found = attach(how, want)
        if found[0] != "unknown" or not ("did not respond" in found[2] or "ended before" in found[2]):
            break
    # its buffer of output, the largest; what it frees at once may lack its size
    check(found[:2] in (("whole", 4104), ("part", 4104)), f"attached, {how}: its heap was not walked: {found}")


if run(PROGRAM, "own") != (3, "done\n"):
    print("there is no userfaultfd here, or not for everybody")
    sys.exit(77)
for _ in range(20 if os.environ.get("MS_CHECK_ALL") else 5):
    launched("own", "unreadable")
launched("own", "unreadable", "--leak-check=yes")
launched("full", "done")
launched("full", "done", "--leak-check=yes")
launched("other", "unreadable")
launched("fork", "unreadable")
for HOW in ("own", "other", "fork"):
    told(HOW, NOT_SCANNED)
    attached(HOW, NOT_SCANNED)
told("full", "unreachable; stopped for")
attached("full", "unreachable; stopped for")
print("ok" if not failures else f"{len(failures)} failed")
sys.exit(bool(failures))
