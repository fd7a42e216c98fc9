# SPDX-License-Identifier: MIT
"""losses.py RUNS: programs that always do the same are recorded while ms-record is stopped now and then and nobody waits for it.

What is lost is counted to the event, no site has more allocations than in a run that lost nothing, and none more blocks left than that and the lost ones.
"""
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

BIN, TB = os.environ["BIN"], os.environ["TB"]
PROGRAMS = ("churn", "sampled", "handover", "pingpong")


def record(name, chance):
    """(events that came, lost ones, {function: (allocations, blocks left)}) of one run; chance: of the moments when ms-record is stopped, None = never."""
    if os.path.exists("t.trace"):
        os.unlink("t.trace")
    p = subprocess.Popen([f"{BIN}/ms-record", "-q", "--no-symbols", "--leak-check=no", "-o", "t.trace", *(["--overflow=drop", "--buffer=1m"] if chance else []),
                          f"{TB}/targets/{name}"], stdout=subprocess.DEVNULL)
    while chance and p.poll() is None:
        time.sleep(chance.uniform(0, 0.02))
        p.send_signal(signal.SIGSTOP)
        time.sleep(chance.uniform(0, 0.06))
        p.send_signal(signal.SIGCONT)
    if p.wait():
        sys.exit(f"losses: {name}: status {p.returncode}")
    subprocess.run([f"{BIN}/ms-snap", "-q", "-o", "t.db", "t.trace"], check=True)
    db = sqlite3.connect("t.db")
    events, lost, strange = db.execute("SELECT events - inferred_frees, events_lost, inherited_frees FROM process").fetchone()
    rows = db.execute("""SELECT function, sum(allocations), sum(ifnull(live_blocks, 0)) FROM site JOIN stack ON stack.id = site.stack
        JOIN frame ON frame.id = stack.frame LEFT JOIN site_stat ON site_stat.site = site.id AND snapshot = (SELECT max(id) FROM snapshot) GROUP BY 1""").fetchall()
    db.close()
    if strange:
        sys.exit(f"losses: {name}: {strange} frees of blocks that a parent left, without a parent")
    return events, lost, {function: numbers for function, *numbers in rows}


def judge(run, whole):
    """What is wrong, or None."""
    events, lost, sites = run
    if events + lost != whole[0]:
        return f"{events} events and {lost} lost are not {whole[0]}"
    for function, (allocations, left) in sites.items():
        most, most_left = whole[2].get(function, (0, 0))
        if allocations > most or left > most_left + lost:
            return f"{function}: {allocations} allocations of {most}, {left} blocks left of {most_left}, with {lost} lost"
    return None


def main():
    runs, chance, found, some = int(sys.argv[1]), random.Random(1), 0, 0
    whole = {name: record(name, None) for name in PROGRAMS}
    for i in range(runs):
        name = PROGRAMS[i % len(PROGRAMS)]
        run = record(name, chance)
        some += run[1] > 0
        wrong = judge(run, whole[name])
        if wrong:
            found += 1
            print(f"losses: {name}: {wrong}", file=sys.stderr, flush=True)
    print(f"losses: runs {runs}, of which {some} lost events, found {found}, left {found}")
    sys.exit(found > 0 or (runs >= 20 and not some))


main()
