# SPDX-License-Identifier: MIT
"""What attach_cycles.py attaches to: a process that begins, is asked after every cycle, and says at its end what it found."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

from attaching import BIN, RECORD, TARGET, TB, begun, check, mapped, state, stops, wait_for


def figure(pattern, text):
    m = re.search(pattern, text)
    return int(m.group(1).replace(",", "")) if m else 0


class Said:
    """What one ms-record said at its end."""

    def __init__(self, status, text):
        self.status, self.text, self.stops = status, text, stops(text)
        self.allocations = figure(r"allocations +([\d,]+)", text)
        self.blocks = figure(r"at end .* in ([\d,]+) block", text)
        self.lost = figure(r"([\d,]+) events lost", text)


class Target:
    """A process that judges itself and says so at SIGTERM: tests/host/attach.c.

    share: it gets one of so many cycles, so that all fit into a test; least: allocations in the busiest cycle (on a busy machine it
    may not run in some); blocks: live at most; mean: of the sizes it asks for."""

    def __init__(self, name, *command, env=None, share=1, least=1, blocks=None, mean=None, exe=None):
        self.name, self.command, self.share, self.least, self.blocks, self.mean = name, command, share, least, blocks, mean
        self.env, self.exe = env, exe
        self.trace = name.replace(" ", "-").replace("/", "-") + ".trace"
        self.process = self.pid = None

    def begin(self, _seconds):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        env={**os.environ, **(self.env or {})})
        self.pid = self.process.pid
        for _ in range(10000):
            if not self.exe or os.path.basename(os.readlink(f"/proc/{self.pid}/exe")) == self.exe:
                break
            time.sleep(0.02)
        begun(self.pid)

    def recorder(self, *options):
        return [RECORD, "--no-symbols", "-v", "-o", self.trace, *options, "-p", str(self.pid)]

    def cycle(self, seconds):
        r = subprocess.run(self.recorder("-d", str(seconds)), capture_output=True, text=True, timeout=1000, check=False)
        return Said(r.returncode, r.stderr)

    def trouble(self):
        """Why it is not what it was; None = it is."""
        return None if self.process.poll() is None else f"it ended: {self.process.returncode}"

    def judge(self, said, name):
        if self.blocks is not None and not said.lost:
            check(said.blocks <= self.blocks, f"{name}: {said.blocks} blocks are live at the end, of {self.blocks} at most")

    def judge_report(self, name):
        r = subprocess.run([f"{BIN}/ms-report", "--json", self.trace], capture_output=True, text=True, check=False)
        check(r.returncode == 0, f"{name}: ms-report: {r.returncode} {r.stderr}")
        if r.returncode:
            return
        said = json.loads(r.stdout)
        t, q = said["totals"], said["quality"]
        check(q["complete"] and q["attached"], f"{name}: {q}")
        if not t["allocations"] or q["events_lost"]:
            return
        good = t["unfreed_blocks"] <= t["allocations"] and t["unfreed_bytes"] <= t["peak_bytes"] <= t["allocated_bytes"]
        check(good and t["temporary_allocations"] <= t["allocations"], f"{name}: the figures contradict each other: {t}")
        if self.mean and t["allocations"] > 10000:
            mean = t["allocated_bytes"] / t["allocations"]
            check(abs(mean / self.mean - 1) < 0.05, f"{name}: {mean} bytes an allocation")

    def mapped(self):
        return mapped(self.pid) if self.process.poll() is None else ""

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        """SIGTERM; what it said."""
        self.signal(signal.SIGTERM)
        try:
            out = self.process.communicate(timeout=600)[0].decode().strip()
        except subprocess.TimeoutExpired:
            check(False, f"{self.name}: it does not end")
            return "it does not end"
        check(self.process.returncode == 0, f"{self.name}: status {self.process.returncode}: {out[-300:]}")
        return out.splitlines()[-1] if out else f"status {self.process.returncode}"

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.trace + ".d", ignore_errors=True)


class Blocked(Target):
    """A thread in each of 23 system calls that must not return: tests/host/hijack_victim.c."""

    def begin(self, _seconds):
        self.process = subprocess.Popen([f"{TB}/host/hijack_victim", "blocked", "blocked.words"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)
        self.pid = self.process.pid
        subprocess.run([f"{TB}/host/hijack", "wait", "blocked.words", "23"], check=True, timeout=600)

    def end(self):
        out = self.process.communicate(timeout=600)[0].decode()  # the end of its input is its end
        check(out == "early 0 of 23\n", f"{self.name}: {out}")
        return "returned before their time: " + out.strip().removeprefix("early ")


class Stopped(Target):
    """It is stopped by SIGSTOP when it is attached to and when it is let go, and goes on between."""

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)
        self.stays("when it was asked to")

    def stays(self, when):
        for _ in range(10000):
            if state(self.pid) == "T":
                return
            time.sleep(0.02)
        check(False, f"{self.name}: {when} it is not stopped, but {state(self.pid)}")

    def begin(self, seconds):
        super().begin(seconds)
        self.stop()

    def cycle(self, seconds):
        with subprocess.Popen(self.recorder(), stderr=subprocess.PIPE, text=True) as r:
            wait_for(self.trace)
            self.stays("attached to")
            self.process.send_signal(signal.SIGCONT)
            time.sleep(seconds)
            self.stop()
            r.send_signal(signal.SIGINT)
            text = r.communicate(timeout=600)[1]
        self.stays("let go")
        if "buffers were left" in text:  # a thread was stopped where it needs them: it has to leave
            self.tidy()
            self.stop()
        return Said(r.returncode, text)

    def tidy(self):
        """It goes on; once its threads have left, the next recorder takes away what was left."""
        self.process.send_signal(signal.SIGCONT)
        for _ in range(1000):
            said = super().cycle(0.05)
            if not said.status and "buffers were left" not in said.text:
                break
            time.sleep(0.1)

    def mapped(self):
        self.tidy()
        return super().mapped()


class Chroot(Target):
    """In a mount namespace of its own, below a folder in which there is nothing but itself and its libraries."""

    def begin(self, seconds):
        root = os.path.abspath("root")
        said = subprocess.run(["ldd", TARGET], capture_output=True, text=True, check=True).stdout
        for file in re.findall(r"(/\S+) \(0x", said):
            os.makedirs(root + os.path.dirname(file), exist_ok=True)
            shutil.copy(file, root + file)
        shutil.copy(TARGET, root + "/attach")
        self.command = ["unshare", "--mount", "--propagation=unchanged", "chroot", root, "/attach", "churn", "2"]
        super().begin(seconds)
        # What is above the root of ours is told too, in its own namespace.
        check(os.readlink(f"/proc/{self.pid}/root").endswith(root) and not os.path.exists(f"/proc/{self.pid}/root/proc"),
              f"{self.name}: it is not below '{root}'")


class Apart(Target):
    """In namespaces of its own (PID and more), where it is number 1; perhaps in one that has nothing but the program.
    inside: the namespaces in which the recorder is, too."""

    def __init__(self, name, program, *words, more=(), inside=(), alone=False, **options):
        command = [program, *words]
        if alone:
            command[0] = "/" + os.path.basename(program)
            command = ["chroot", os.path.abspath("alone"), *command]
        super().__init__(name, "unshare", "--pid", "--fork", "--mount-proc", *more, *command, **options)
        self.program, self.inside, self.alone = program, inside, alone

    def begin(self, _seconds):
        if self.alone:
            os.makedirs("alone", exist_ok=True)
            shutil.copy(self.program, "alone")
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.pid = self.child()
        begun(self.pid)

    def child(self):
        for _ in range(10000):
            for pid in subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False).stdout.split():
                if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == os.path.basename(self.program):
                    return int(pid)
            time.sleep(0.02)
        raise RuntimeError(f"{self.name}: it does not begin")

    def recorder(self, *options):
        outside = super().recorder(*options)
        if not self.inside:
            return outside
        return ["nsenter", f"--wd={os.getcwd()}", "-t", str(self.pid), *self.inside, *outside[:-1], "1"]

    def signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        if self.pid and self.process.poll() is None:
            self.signal(signal.SIGKILL)
        super().kill()
