# SPDX-License-Identifier: MIT
"""Runs the displays of a manual page: one that begins with a comment is the file that it names, any other is commands behind "$ ", each
followed by what it prints. "..." stands for a part of a line; as a line of its own for any lines. What stands below a comment ".\\" needs PROGRAM"
is left out where that is not. SRC and PATH as tests/run sets them."""
import os
import re
import shutil
import subprocess
import sys

ESCAPES = {"\\&": "", "\\e": "\\", "\\-": "-", "\\(aq": "'"}


def displays(path):
    """The literal displays of a page, as a reader has them."""
    with open(path, encoding="utf-8") as f:
        page = f.read()
    for needed, text in re.findall(r"^(?:\.\\\" needs (\S+)\n)?\.Bd -literal.*\n((?:.*\n)*?)\.Ed$", page, re.M):
        if needed and not shutil.which(needed):
            print("note: without", needed)
            continue
        yield re.sub(r"\\(?:[&e-]|\(aq)", lambda m: ESCAPES[m[0]], text)


def expected(lines):
    """What matches a whole output that the page shows so."""
    parts = []
    for line in lines:
        parts.append(r"(?:.*\n)*?" if line == "..." else ".*?".join(re.escape(p) for p in line.split("...")) + r"\n")
    return re.compile("".join(parts))


class Shell:
    """One shell for all commands, so that "&" and "$!" work; a marker line ends each output."""

    def __init__(self):
        self.shell = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, command):
        """(standard output and error, status)"""
        self.shell.stdin.write(command + "\necho \"=== $?\"\n")
        self.shell.stdin.flush()
        said = ""
        for line in self.shell.stdout:
            if m := re.fullmatch(r"=== (\d+)\n", line):
                return said, int(m[1])
            said += line
        raise SystemExit(f"{command}: the shell ended")

    def end(self):
        """All that it started has ended by itself."""
        self.shell.stdin.close()
        self.shell.wait(200)


def differs(shell, commands):
    """Runs them; what the first says that the page does not show so, or None."""
    for command, shown in commands:
        said, status = shell.run(command)
        if status or not expected(shown.splitlines()).fullmatch(said):
            return f"$ {command}\nstatus {status}; said:\n{said}the page shows:\n{shown}"
    return None


def main():
    """Every display in its order. What is recorded for a while is recorded again where a busy machine left the program too little of that."""
    shell, count, files = Shell(), 0, 0
    for text in displays(sys.argv[1]):
        if m := re.match(r"/\* (\S+) \*/\n", text) or re.match(r"# (\S+)\n", text):
            with open(m[1], "w", encoding="utf-8") as f:
                f.write(text)
            files += 1
            continue
        commands = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M)
        for tries in range(4, 0, -1):
            wrong = differs(shell, commands)
            if not wrong:
                break
            if tries == 1 or " -d " not in text:
                raise SystemExit(wrong)
        count += len(commands)
    shell.end()
    print(f"{files} programs, {count} commands")
    assert files >= 4 and count >= 15


os.environ["CPATH"] = os.path.join(os.environ["SRC"], "include")
main()
