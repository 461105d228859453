"""A headless Chromium, asked by way of its DevTools protocol over a pipe (no port, no websocket)."""
import base64
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time

import png

PATIENCE_S = 240  # of one answer, on a machine with much else to do


def find():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


class Browser:
    """One page. `complaints` holds what the console and the page's errors said."""

    def __init__(self, width=1280, height=900):
        self.dir = tempfile.mkdtemp(prefix="rp-browser-")
        to_read, self.out = os.pipe()
        self.inn, to_write = os.pipe()

        def fds():  # 3 and 4 are where Chromium looks for them
            os.dup2(to_read, 20)
            os.dup2(to_write, 21)
            os.dup2(20, 3)
            os.dup2(21, 4)

        args = [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                "--no-first-run", "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
                "--force-device-scale-factor=1", "--disable-lcd-text", "--user-data-dir=" + self.dir, f"--window-size={width},{height}", "about:blank"]
        env = dict(os.environ, HOME=self.dir, XDG_CONFIG_HOME=self.dir, XDG_CACHE_HOME=self.dir)
        self.process = subprocess.Popen(args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        preexec_fn=fds, close_fds=False, env=env, start_new_session=True)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.next_id, self.session = b"", 0, None
        self.complaints, self.requests, self.events = [], [], []
        target = [t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page"][0]
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def close(self):
        self.session = None
        try:
            self.ask("Browser.close")  # which ends its helpers, too
            self.process.wait(PATIENCE_S)
        except (RuntimeError, OSError, subprocess.TimeoutExpired):
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.out)
        os.close(self.inn)
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def message(self, until):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.inn], [], [], max(0, until - time.monotonic()))
            data = os.read(self.inn, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("the browser says nothing more" if ready else "the browser does not answer")
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def note(self, event):
        params = event.get("params", {})
        method = event.get("method")
        if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(params["type"] + ": " + " ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        self.events.append(method)

    def ask(self, method, **params):
        self.next_id += 1
        request = {"id": self.next_id, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        until = time.monotonic() + PATIENCE_S
        while True:
            answer = self.message(until)
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def run(self, expression):
        """The value of a JavaScript expression, a promise's when it is one."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True,
                          allowUnsafeEvalBlockedByCSP=False)
        if "exceptionDetails" in answer:
            raise RuntimeError(expression + ": " + str(answer["exceptionDetails"].get("exception", {}).get("description")))
        return answer["result"].get("value")

    def open(self, path):
        url = pathlib.Path(path).resolve().as_uri()
        self.ask("Page.navigate", url=url)
        until = time.monotonic() + PATIENCE_S
        while self.run("document.readyState + location.href") != "complete" + url:
            if time.monotonic() > until:
                raise RuntimeError("the page does not load: " + path)
            time.sleep(0.02)
        self.settle()

    def settle(self):
        """Until what was asked for is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def dark(self, on):
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if on else "light"}])
        self.settle()

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" else "left", clickCount=1)
        self.settle()

    def drag(self, begin, end, shift=False):
        """The left button down at BEGIN, moved to END in steps, and up there."""
        held = {"button": "left", "buttons": 1, "modifiers": 8 if shift else 0}
        at = lambda f: {"x": begin[0] + (end[0] - begin[0]) * f, "y": begin[1] + (end[1] - begin[1]) * f}
        self.ask("Input.dispatchMouseEvent", type="mousePressed", clickCount=1, **at(0), **held)
        for f in (0.3, 0.7, 1):
            self.ask("Input.dispatchMouseEvent", type="mouseMoved", **at(f), **held)
        self.ask("Input.dispatchMouseEvent", type="mouseReleased", clickCount=1, **at(1), **held)
        self.settle()

    def hover(self, x, y):
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="none")
        self.settle()

    def wheel(self, x, y, by):
        self.ask("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=by)
        self.settle()

    def key(self, key, code=0):
        more = {"text": key} if len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, **more)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)
        self.settle()

    def picture(self, path, selector=None, height=0):
        params = {"format": "png", "captureBeyondViewport": True}
        if selector:
            box = self.run(f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                           " return {x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: r.height, scale: 1}; })()")
        else:
            box = self.run(f"({{x: 0, y: 0, width: innerWidth, height: {height} || document.documentElement.scrollHeight, scale: 1}})")
        data = self.ask("Page.captureScreenshot", clip=box, **params)["data"]
        with open(path, "wb") as out:
            out.write(png.pressed(base64.b64decode(data)))
