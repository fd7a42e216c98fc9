# SPDX-License-Identifier: MIT
"""Drives a Chromium without a screen over its pipe: what a page does, says on its console and asks the network for."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PATIENCE = 120  # seconds until something that must happen has not


def find():
    """The browser's program, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Chromium:
    """One browser with one page."""

    def __init__(self, width=1280, height=900):
        self.profile = tempfile.mkdtemp(prefix="chromium.", dir=".")
        there_r, self.to = os.pipe()
        self.back, there_w = os.pipe()
        self.buffer, self.number, self.events = b"", 0, []

        def pipes():  # the browser reads from descriptor 3 and writes to 4
            a, b = os.dup(there_r), os.dup(there_w)
            os.dup2(a, 3)
            os.dup2(b, 4)
            os.closerange(5, 100)

        # pylint: disable-next=subprocess-popen-preexec-fn
        self.child = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--allow-file-access-from-files",
             f"--user-data-dir={os.path.abspath(self.profile)}", f"--window-size={width},{height}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=pipes, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there_r)
        os.close(there_w)
        self.session = None
        target = next(t for t in self.wait(self.targets) if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.size(width, height)

    def targets(self):
        """Pages there are, if any."""
        found = self.call("Target.getTargets")["targetInfos"]
        return [t for t in found if t["type"] == "page"] and found

    @staticmethod
    def wait(condition):
        """What `condition` gives once that is true."""
        end = time.monotonic() + PATIENCE
        while True:
            v = condition()
            if v:
                return v
            if time.monotonic() > end:
                raise TimeoutError(f"waited {PATIENCE} s for {condition}")
            time.sleep(0.02)

    def message(self):
        """The next message of the browser."""
        while b"\0" not in self.buffer:
            if not select.select([self.back], [], [], PATIENCE)[0]:
                raise TimeoutError("the browser says nothing")
            more = os.read(self.back, 1 << 20)
            if not more:
                raise EOFError("the browser is gone")
            self.buffer += more
        one, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(one)

    def call(self, method, **parameters):
        """The result of a command."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            m = self.message()
            if m.get("id") == self.number:
                if "error" in m:
                    raise RuntimeError(f"{method}: {m['error']}")
                return m["result"]
            if "method" in m:
                self.events.append(m)

    def js(self, expression):
        """The value of an expression in the page; a promise's when it is there."""
        r = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in r:
            raise RuntimeError(f"{expression}: {r['exceptionDetails']}")
        return r["result"].get("value")

    def open(self, path):
        """Loads a file and waits until its script is done. Returns seconds."""
        self.events.clear()
        start = time.monotonic()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait(lambda: self.js("document.documentElement?.dataset.ready ?? ''"))
        return time.monotonic() - start

    def complaints(self):
        """What the console said, which exceptions nobody caught, and requests for anything but the page itself."""
        bad = []
        for e in self.events:
            p = e["params"]
            if e["method"] == "Runtime.consoleAPICalled":
                bad.append(("console", p["type"], p["args"]))
            elif e["method"] == "Runtime.exceptionThrown":
                bad.append(("exception", p["exceptionDetails"]))
            elif e["method"] == "Log.entryAdded":
                bad.append(("log", p["entry"]["text"]))
            elif e["method"] == "Page.javascriptDialogOpening":
                bad.append(("dialog", p["message"]))
            elif e["method"] == "Network.requestWillBeSent" and p["type"] != "Document" and not p["request"]["url"].startswith("data:,"):
                bad.append(("network", p["request"]["url"]))
        return bad

    def press(self, key, code=0):
        """A key, as from a keyboard."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def size(self, width, height, mobile=False):
        """Of the window."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def dark(self, yes):
        """Whether the reader prefers dark."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if yes else "light"}])

    def picture(self, path, whole=False):
        """A PNG of the window, or of the whole page."""
        r = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as f:
            f.write(base64.b64decode(r["data"]))

    def close(self):
        """Ends the browser."""
        try:
            self.session = None
            self.call("Browser.close")
            self.child.wait(PATIENCE)
        except (EOFError, OSError, subprocess.TimeoutExpired):
            self.child.kill()
            self.child.wait()
        for fd in (self.to, self.back):
            os.close(fd)
        shutil.rmtree(self.profile, ignore_errors=True)
