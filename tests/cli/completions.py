# SPDX-License-Identifier: MIT
"""Types on a terminal, with TAB, in the shells that are named, and looks at what the programs were given then: completions.py FOLDER SHELL..."""
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
import time

FOLDER = os.path.abspath(sys.argv[1])
START = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "for f in '%s'/*.bash; do . \"$f\"; done"),
    "zsh": (["zsh", "-f", "-i"], "fpath=('%s' $fpath); autoload -U compinit; compinit -u -D"),
    "fish": (["fish", "--no-config", "-i"], "for f in '%s'/*.fish; source $f; end"),
}
CASES = [
    ("ms-report --growt\t", ["--growth"]),
    ("ms-record --leak-check=au\t", ["--leak-check=auto"]),
    ("ms-record --keep=la\t5m", ["--keep=last:5m"]),
    ("ms-record --start-after mar\twarm", ["--start-after", "mark:warm"]),
    ("ms-report --tree=u\t", ["--tree=up"]),
    ("ms-report --export=spee\t", ["--export=speedscope"]),
    ("ms-report --by func\t", ["--by", "function"]),
    ("ms-report --by=func\t", ["--by=function"]),
    ("ms-report --html=my\t", ["--html=my page.html"]),
    ("ms-report --limit 3 my\t", ["--limit", "3", "my page.html"]),
    ("ms-record --tell run.trace leak\t", ["--tell", "run.trace", "leak-check"]),
    ("ms-report --at pe\t", ["--at", "peak"]),
    ("ms-report --explain retai\t", ["--explain", "retained"]),
    ("ms-report --fail-on delta_unf\t", ["--fail-on", "delta_unfreed_bytes"]),
    ("ms-snap --dataset fol\t", ["--dataset", "folder"]),
    ("ms-filter --not=one\t", ["--not=one-time"]),
    ("ms-filter --when=bo\t1ms..", ["--when=born:1ms.."]),
    ("ms-diff --per all\t --min-ch\t 4k", ["--per", "allocations", "--min-change", "4k"]),
    ("ms-top --sor\t rss --bat\t", ["--sort", "rss", "--batch"]),
    ("ms-record --keep=last:5m -o run.trace kommand\t", ["--keep=last:5m", "-o", "run.trace", "kommandant"]),
]
failures = 0


class Shell:
    """One on a terminal of its own, with our completions."""

    def __init__(self, name):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        env = {"PATH": os.path.abspath("bin") + ":" + os.environ["PATH"], "HOME": os.path.abspath("home"), "TERM": "vt100", "LC_ALL": "C.UTF-8"}
        command, load = START[name]
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        os.set_blocking(self.master, False)
        self.said = b""
        self.look(1)
        self.type(load % FOLDER + "\nms-top ready\n")
        if self.given() != ["ready"]:
            sys.exit(f"FAILED: {name} did not begin: {self.said!r}")

    def look(self, seconds):
        """What the shell says; fish asks what the terminal is, and is not answered."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                self.said += os.read(self.master, 65536)
            except BlockingIOError:
                time.sleep(0.02)

    def type(self, text):
        os.write(self.master, text.encode())

    def given(self):
        """The arguments of the program that was run, None = none was."""
        for _ in range(100):
            self.look(0.1)
            if os.path.exists("given"):
                with open("given", encoding="utf-8") as f:
                    words = [w.rstrip("/") for w in f.read().split("\n")[:-1]]  # zsh takes the one off that it put there
                os.remove("given")
                return words
        return None

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


def main():
    global failures
    for folder in ("bin", "home", "folder"):
        os.makedirs(folder, exist_ok=True)
    for name in sorted({case[0].split()[0] for case in CASES}) + ["kommandant"]:
        with open("bin/" + name, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n: >being\nfor a; do printf '%s\\n' \"$a\" >>being; done\nmv being given\n")
        os.chmod("bin/" + name, 0o755)
    with open("my page.html", "w", encoding="utf-8"):
        pass
    for name in sys.argv[2:]:
        shell = Shell(name)
        for text, want in CASES:
            before = len(shell.said)
            for part in text.split("\t")[:-1]:
                shell.type(part + "\t")
                shell.look(0.5)
            shell.type(text.split("\t")[-1] + "\n")
            given = shell.given()
            if given != want:
                failures += 1
                print(f"FAILED: {name}: {text!r}: {given}, not {want}: {shell.said[before:]!r}")
        shell.end()


main()
print(f"{len(CASES)} lines in {', '.join(sys.argv[2:])}")
sys.exit(failures > 0)
