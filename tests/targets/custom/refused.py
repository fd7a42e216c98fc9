# SPDX-License-Identifier: MIT
"""A hook that is refused: the command is not run, unless it runs already because it no longer waited for its hooks. Recorded, and on standby."""
import concurrent.futures
import os
import signal
import subprocess
import sys
import time

SYMBOLS = 400000  # so that to look for a function that is not there takes a while
MISSING = 60
STOPPED_S = 6.5  # more than the guest waits (WELCOME_S in guest/tell.c)
JUMP = 0xE9
SECONDS = 15  # for which main runs: it begins 1.5 s before ms-record goes on, which finds out then, however busy the machine is
here = os.path.dirname(os.path.abspath(__file__))


def check(good, what):
    if not good:
        sys.exit("FAILED: " + what)


def build():
    with open("symbols.s", "w") as f:
        f.write("\t.section .note.GNU-stack, \"\", @progbits\n\t.text\n")
        f.writelines(f"\t.globl extra_{i}\nextra_{i}:\n" for i in range(SYMBOLS))
        f.write("\tnop\n")
    subprocess.run(["gcc", "-O2", "-fno-builtin", "-no-pie", "-o", "refused", os.path.join(here, "refused.c"), "symbols.s"], check=True)
    nm = subprocess.run(["nm", "refused"], check=True, capture_output=True, text=True).stdout
    return {words[2]: int(words[0], 16) for words in (line.split() for line in nm.splitlines()) if len(words) == 3 and words[2].endswith("_alloc")}


def program_of(recorder):
    """The pid of the command that this ms-record started, once it has called exec; or None."""
    try:
        with open(f"/proc/{recorder}/task/{recorder}/children") as f:
            for pid in f.read().split():
                if os.readlink(f"/proc/{pid}/exe") == os.path.abspath("refused"):
                    return int(pid)
    except OSError:
        pass
    return None


def byte_at(memory, address):
    """None while the program is being mapped."""
    try:
        return os.pread(memory, 1, address)[0]
    except OSError:
        return None


def stop_between(recorder, first, last):
    """Stops ms-record as soon as the first function is hooked."""
    end, pid = time.monotonic() + 60, None
    while pid is None and time.monotonic() < end:
        check(recorder.poll() is None, "ms-record ended before the command was seen")
        pid = program_of(recorder.pid)
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    while byte_at(memory, first) != JUMP:
        check(recorder.poll() is None and time.monotonic() < end, "the first function was not hooked")
    recorder.send_signal(signal.SIGSTOP)
    check(byte_at(memory, last) != JUMP, "the last function was hooked already: more symbols are needed")
    os.close(memory)


def run(options, hooks, seconds, stop=None):
    """Of ms-record with these options: exit status, output, messages. `stop`: the first and the last function, between which it is stopped."""
    command = ["ms-record"] + options
    for hook in hooks:
        command += ["--hook", hook + "(size)->ptr"]
    recorder = subprocess.Popen(command + ["./refused", str(seconds)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        if stop:
            stop_between(recorder, *stop)
            time.sleep(STOPPED_S)
    finally:
        recorder.send_signal(signal.SIGCONT)
    out, err = recorder.communicate()
    return recorder.returncode, out, err


def traces():
    """Of the recording before: its trace, and those of further programs."""
    with open("refused.trace", "rb") as f:
        return f.read(), sorted(os.listdir("refused.trace.d"))


def check_refused(options):
    recorded = "-o" in options
    if recorded:
        subprocess.run(["ms-record", "-q", *options, "--follow=all", "sh", "-c", "ls; ls"], check=True, stdout=subprocess.DEVNULL)
        before = traces()
    status, out, err = run(options, ["too_short"], 0)
    check((status, out) == (125, ""), f"{options}: too short: status {status}, {out}{err}")
    check(not recorded or traces() == before, f"{options}: the traces of the recording before are gone: {os.listdir()}")
    check("cannot hook 'too_short': its code is too short for a jump" in err, f"{options}: too short: {err}")
    names = ["first_alloc"] + [f"missing_{i}" for i in range(MISSING)] + ["last_alloc"]
    status, out, err = run(options, names, SECONDS, (address["first_alloc"], address["last_alloc"]))
    check((status, out) == (7, plain.stdout), f"{options}: did not wait: status {status}, {out}{err}")
    check("cannot hook 'last_alloc': the program stopped waiting for the hook and ran on" in err, f"{options}: did not wait: {err}")


address = build()
plain = subprocess.run(["./refused"], capture_output=True, text=True)
check(plain.returncode == 7, f"plain: status {plain.returncode}")

with concurrent.futures.ThreadPoolExecutor() as pool:
    for done in [pool.submit(check_refused, options) for options in (["-o", "refused.trace"], ["--standby"])]:
        done.result()
