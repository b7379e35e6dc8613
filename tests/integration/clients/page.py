#!/usr/bin/python3
"""Drives the status page in headless Chromium, as people see it. usage: page.py [--write]

The last line is `N passed, N failed`. With --write it also makes the pictures of server/ui/docs. The server is the program that
WEIR names, else build/weir; the browser comes from the Debian packages chromium, chromium-driver and python3-selenium.
"""

import base64
import json
import pathlib
import shutil
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

from harness import ROOT, Server, eventually  # noqa: E402
from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.options import Options  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from versions import AdminServer, Models  # noqa: E402

DIGITS = ROOT / "models" / "digits"
PICTURES = ROOT / "server" / "ui" / "docs"
LOAD_MS, LOADS = 200, 40  # a page loads in that time; on a busy machine the quickest of so many counts
WIDE, PHONE = 1360, 360
SEE_SECONDS = 60

# Every piece of text that can be seen, with the contrast to what is behind it (WCAG 2.1, 1.4.3) and the size of its letters.
TEXTS = """
const channel = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); };
const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const light = (c) => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
const out = [];
for (const node of document.querySelectorAll("body *")) {
  if (![...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim())) continue;
  const box = node.getBoundingClientRect(), style = getComputedStyle(node);
  if (!box.width || !box.height || style.visibility === "hidden" || node.closest("noscript, [disabled], option")) continue;
  let behind = node, paint = null;
  while (behind && !paint) { const c = parse(getComputedStyle(behind).backgroundColor); if (c.length === 3 || c[3] === 1) paint = c; behind = behind.parentElement; }
  const a = light(parse(style.color)), b = light(paint || [255, 255, 255]);
  out.push({ text: node.textContent.trim().slice(0, 40), contrast: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), size: parseFloat(style.fontSize), right: box.right });
}
return out;
"""
SHIFTS = """
const done = arguments[0];
new PerformanceObserver((list) => done(list.getEntries().reduce((sum, entry) => sum + entry.value, 0))).observe({ type: "layout-shift", buffered: true });
setTimeout(() => done(0), 1000);
"""
INK = """
const canvas = document.querySelectorAll("#plots canvas")[arguments[0]], copy = document.createElement("canvas");
copy.width = canvas.width;
copy.height = canvas.height;
const context = copy.getContext("2d", { willReadFrequently: true });
context.drawImage(canvas, 0, 0);
const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
let count = 0;
for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 100 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60) count++;
return count;
"""


class Browser:
    def __init__(self, width=WIDE, height=900, dark=False, scale=1):
        options = Options()
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                     "--disable-background-networking", "--window-size=%d,%d" % (width, height)):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.driver.set_script_timeout(SEE_SECONDS)
        self.width, self.scale = width, scale
        self.size(height)
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.driver.quit()

    def command(self, name, **arguments):
        return self.driver.execute_cdp_cmd(name, arguments)

    def size(self, height):
        self.command("Emulation.setDeviceMetricsOverride", width=self.width, height=height, deviceScaleFactor=self.scale,
                     mobile=self.width < 500)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def open(self, server, path="/ui"):
        self.address = "http://%s:%d" % (server.host, server.port)
        self.driver.get(self.address + path)

    def text(self, selector):
        return self.run("const node = document.querySelector(arguments[0]); return node && !node.hidden ? node.innerText : '';", selector)

    def see(self, selector, *words, seconds=SEE_SECONDS):
        """Waits until the element shows all of these words."""
        return eventually(lambda: all(word in self.text(selector) for word in words) and self.text(selector), seconds,
                          "%s in %s, which has %r," % (words, selector, self.text(selector)))

    def click(self, selector):
        self.run("document.querySelector(arguments[0]).click()", selector)

    def complaints(self):
        return [line["message"] for line in self.driver.get_log("browser")]

    def requests(self):
        """The addresses that the page asked for."""
        out = []
        for line in self.driver.get_log("performance"):
            message = json.loads(line["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                out.append(message["params"]["request"]["url"])
        return out

    def picture(self, name, height=None):
        """Writes a picture of the page, or of its first `height` pixels."""
        height = height or self.run("return document.documentElement.scrollHeight")
        self.size(height)
        eventually(lambda: self.run("return innerHeight") == height, what="the height")
        self.run("return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        data = self.command("Page.captureScreenshot", format="webp", quality=75)["data"]
        PICTURES.mkdir(parents=True, exist_ok=True)
        (PICTURES / name).write_bytes(base64.b64decode(data))


class Asking:
    """Predictions, one after the other, and bad ones among them, while the block runs."""

    def __init__(self, server, rows, clients=3):
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.ask, args=(server, rows, number)) for number in range(clients)]

    def ask(self, server, rows, number):
        with server.client() as client:
            count = number
            while not self.stopping.is_set():
                count += 1
                client.predict([[1]] if count % 40 == 0 else rows[: 1 + count % len(rows)])

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *unused):
        self.stopping.set()
        for thread in self.threads:
            thread.join()


ROWS = [[(7 * i + k) % 17 for i in range(64)] for k in range(12)]


class Page(unittest.TestCase):
    def assert_quiet(self, browser):
        self.assertEqual(browser.complaints(), [])
        elsewhere = [url for url in browser.requests() if not url.startswith((browser.address + "/", "data:"))]
        self.assertEqual(elsewhere, [])

    def assert_readable(self, browser):
        texts = browser.run(TEXTS)
        self.assertGreater(len(texts), 60)
        self.assertEqual([one for one in texts if one["contrast"] < 4.5], [])
        self.assertEqual([one for one in texts if one["size"] < 11], [])
        self.assertLessEqual(browser.run("return document.documentElement.scrollWidth"), browser.width)

    def test_it_loads_in_time(self):
        with Server(DIGITS) as server, Browser() as browser:
            times = []
            while len(times) < LOADS and min(times, default=LOAD_MS) >= LOAD_MS:
                browser.open(server)
                times.append(eventually(lambda: browser.run("return performance.getEntriesByType('navigation')[0].loadEventEnd"), what="the load"))
            print("loads: %s ms" % ", ".join("%.0f" % time for time in times))
            self.assertLess(min(times), LOAD_MS)
            browser.see("#status", "ready")
            self.assert_quiet(browser)

    def test_it_shows_what_happens_while_it_happens(self):
        with Server(DIGITS, batch_size=16) as server, Browser() as browser:
            browser.open(server)
            browser.see("#live", "live")
            browser.see(".tile:nth-child(1)", "0")
            before = browser.run(INK, 0)
            with Asking(server, ROWS):
                eventually(lambda: browser.text(".tile:nth-child(1)").split("/")[0].strip() not in ("–", "0"), 30, "predictions")
                eventually(lambda: browser.run(INK, 0) > before + 500, 30, "an area in the first plot")
                for plot in (1, 2, 3, 4):
                    eventually(lambda: browser.run(INK, plot) > 40, 30, "plot %d" % plot)
                browser.see("#plots", "answered", "bad", "p99", "capacity", "in time", "resident")
                browser.run("const box = document.querySelector('#plots canvas').getBoundingClientRect(); document.querySelector('#plots canvas')"
                            ".dispatchEvent(new PointerEvent('pointermove', { clientX: box.right - 8, clientY: box.top + 40 }))")
                browser.see("#tip", ":", "answered")
            self.assertLess(browser.driver.execute_async_script(SHIFTS), 0.1)
            for number in (2, 3, 1):
                browser.click("#ranges button:nth-child(%d)" % number)
                self.assertEqual(browser.run("return document.querySelector('#ranges [aria-pressed=true]').innerText"), ("1 min", "5 min", "15 min")[number - 1])
            self.assert_quiet(browser)

    def test_the_form_predicts(self):
        with Server(DIGITS, batch_size=16) as server, Browser() as browser:
            browser.open(server)
            browser.see("#try", "sample 1 of 16")
            browser.click("#try [title='next sample']")
            browser.see("#try", "sample 2 of 16")
            browser.click("#predict")
            browser.see("#code", "200 OK")
            browser.see("#timing", "parse", "queue", "compute", "encode", "µs")
            browser.see("#agrees", "sample")
            browser.see("#result", "version 1", "on cpu")
            self.assertEqual(browser.run("return document.querySelectorAll('#result .track').length"), 10)
            self.assert_quiet(browser)
            browser.run("const area = document.querySelector('#try textarea'); area.value = '{\"instances\": [[1, 2]]}'; area.dispatchEvent(new Event('input'))")
            browser.click("#predict")
            browser.see("#code", "400 Bad Request")
            browser.see("#result pre", "expected 64")

    def test_it_is_readable_on_a_phone_and_in_the_dark(self):
        with Models() as models, models.serve(batch_size=16) as server:
            models.publish(2, samples="right")
            server.until(2, "ready")
            server.roll_out(2, "25% for 1h, 100%", compare_percent=50)
            with Asking(server, [[1, 2, 3, 4]]):
                for width in (WIDE, PHONE):
                    for dark in (False, True):
                        with self.subTest(width=width, dark=dark), Browser(width, dark=dark) as browser:
                            browser.open(server)
                            browser.see("#models", "Canary: version 2", "25 %", "p99", "same decision")
                            browser.click("#config-all")
                            browser.see("#config", "max_concurrency", "default")
                            browser.click("#predict")
                            browser.see("#code", "200 OK")
                            self.assert_readable(browser)
                            light = browser.run("return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
                            self.assertTrue(max(light) < 60 if dark else min(light) > 200, light)
                            self.assert_quiet(browser)

    def test_long_names_fit(self):
        name = "a-model-with-a-long-name-as-teams-and-their-tools-like-to-make-x"
        with tempfile.TemporaryDirectory() as folder:
            for one in (name, "b"):
                shutil.copytree(DIGITS, pathlib.Path(folder) / one)
            config = "models:\n" + "".join("  %s: {path: %s/%s}\n" % (one, folder, one) for one in (name, "b"))
            with Server(None, config=config) as server:
                for width in (WIDE, PHONE):
                    with self.subTest(width=width), Browser(width) as browser:
                        browser.open(server)
                        browser.see("#models", name)
                        browser.click("#config-all")
                        browser.see("#config", "max_inflight_body_bytes", "default")
                        self.assertLessEqual(browser.run("return document.documentElement.scrollWidth"), browser.width)
                        cut = "return [...document.querySelectorAll('#config .scroll')].map((one) => one.scrollWidth - one.clientWidth)"
                        (more,) = browser.run(cut)
                        self.assertLessEqual(more, 1, "the configuration is wider than its card")

    def test_a_server_that_is_not_ready_or_gone_or_back_is_told(self):
        with Models() as models, models.serve(new_versions="serve") as server, Browser() as browser:
            browser.open(server)
            browser.see("#status", "ready")
            models.publish(2, b"no model")
            browser.see("#problems", "version 2 is failed")
            port = server.port
            server.stop()
            browser.see("#status", "not reached")
            browser.see("#live", "no data since")
            with Server(models.path, port=port, wait="listening"):
                browser.see("#live", "live")
                browser.see("#status", "ready")
        with Server(str(HERE), wait="listening") as server, Browser() as browser:
            browser.open(server)
            browser.see("#status", "not ready")
            browser.see("#problems", "version")

    def test_a_browser_that_asks_for_the_root_sees_it(self):
        with Server(DIGITS) as server, Browser() as browser:
            browser.open(server, "/")
            browser.see("#status", "ready")
            self.assertEqual(browser.run("return location.pathname"), "/ui")


def write_pictures():
    """A minute of load with a canary on it: wide and light, wide and dark, and on a phone."""
    with tempfile.TemporaryDirectory() as folder:
        for number in ("1", "2"):
            shutil.copytree(DIGITS / "v1", pathlib.Path(folder) / "digits" / number)
        config = "models:\n  digits: {path: %s, version_policy: all}\nbatch_size: 16\nnew_versions: hold\n" % (pathlib.Path(folder) / "digits")
        with AdminServer(config=config) as server:
            server.order("versions/1/promote", model="digits")
            with Asking(server, ROWS, clients=4):
                server.roll_out(2, "5% for 1h, 25% for 1h, 100%", model="digits", compare_percent=50)
                time.sleep(60)  # what the pictures show
                for name, width, dark, height in (("light.webp", WIDE, False, 1280), ("dark.webp", WIDE, True, 640), ("phone.webp", PHONE, False, 1180)):
                    with Browser(width, dark=dark, scale=1.5 if width == PHONE else 1) as browser:
                        browser.open(server)
                        browser.see("#models", "same decision")
                        browser.click("#try [title='next sample']")
                        browser.see("#try", "sample 2 of 16")
                        browser.click("#predict")
                        browser.see("#code", "200 OK")
                        browser.picture(name, height)


if __name__ == "__main__":
    if "--write" in sys.argv:
        write_pictures()
    outcome = unittest.main(argv=[sys.argv[0], "-v", *[word for word in sys.argv[1:] if word != "--write"]], exit=False).result
    bad = len(outcome.failures) + len(outcome.errors) + len(outcome.unexpectedSuccesses)
    print("%d passed, %d failed" % (max(0, outcome.testsRun - bad - len(outcome.skipped)), bad))
    sys.exit(1 if bad or not outcome.testsRun else 0)
