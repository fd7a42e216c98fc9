#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the examples of manual pages: in literal displays, '$ ' starts a command and the lines after it are its output."""
import subprocess
import sys


def displays(page):
    """The literal displays of a page, as lists of lines."""
    lines = None
    for line in open(page, encoding="utf-8"):
        if line.startswith(".Bd -literal"):
            lines = []
        elif line.startswith(".Ed"):
            yield lines
            lines = None
        elif lines is not None:
            lines.append(line.rstrip("\n").replace("\\e", "\\").replace("\\&", ""))


def examples(lines):
    """(command, expected output) of one display. A here-document belongs to its command."""
    i = 0
    while i < len(lines):
        command, output = lines[i][2:] + "\n", ""
        i += 1
        if "<<END" in command:
            while True:
                command += lines[i] + "\n"
                i += 1
                if lines[i - 1] == "END":
                    break
        while i < len(lines) and not lines[i].startswith("$ "):
            output += lines[i] + "\n"
            i += 1
        yield command, output


def main(pages):
    count = failures = 0
    for page in pages:
        for lines in displays(page):
            if not lines or not lines[0].startswith("$ "):
                continue
            for command, expected in examples(lines):
                run = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True, check=False)
                count += 1
                if run.returncode != 0 or run.stdout != expected:
                    failures += 1
                    print(f"{page}: status {run.returncode}\n$ {command}got:\n{run.stdout}"
                          f"want:\n{expected}")
    print(f"{count} examples, {failures} failures")
    return failures != 0 or count == 0


sys.exit(main(sys.argv[1:]))
