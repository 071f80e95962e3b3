"""The sources of the page: no number on it is invented, and they work in any browser without help."""

import http.server
import re
import threading
from contextlib import contextmanager
from functools import partial

import browser
import engine
from report import expect

PAGE = engine.ROOT / "apps/lesson/page"
REPORT_PAGE = engine.ROOT / "apps/report/page"
MOST_NUMBERS = 5  # in an array: a row of sizes, a colour; more would be a table

# Files whose arrays of numbers are none of a lesson's, and why.
TABLES = {}


def sources() -> dict:
    """Of the lesson page, of the pages of the labs, and of both, by their paths from apps/."""
    found = {}
    for page, fewest in ((PAGE, 20), (REPORT_PAGE, 5), (REPORT_PAGE.parent, 0)):
        files = sorted(page.rglob("*.js"))
        assert len(files) > fewest
        found.update({str(file.relative_to(PAGE.parents[1])): file.read_text(encoding="utf-8") for file in files})
    return found


def test_no_number_is_random():
    for name, text in sources().items():
        for forbidden in ("Math.random", "crypto.", "Date.now", "new Date", "performance.now"):
            expect(forbidden not in text, f"{name}: {forbidden}")


def test_no_table_of_numbers_is_in_the_sources():
    number = r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[-+]?\d+)?n?"
    table = re.compile(rf"\[\s*(?:{number}\s*,\s*){{{MOST_NUMBERS},}}(?:{number}\s*)?,?\s*\]", re.I)
    for name, text in sources().items():
        for found in table.findall(text):
            expect(name in TABLES, f"{name}: a table of numbers: {found[:80]}")
        for found in re.findall(r"[\"'`][A-Za-z0-9+/=]{60,}[\"'`]", text):
            expect(False, f"{name}: perhaps a table in letters: {found[:60]}")


def test_nothing_is_asked_of_a_network():
    for name, text in sources().items():
        for forbidden in ("fetch(", "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "import(", "Worker("):
            expect(forbidden not in text, f"{name}: {forbidden}")
        for url in re.findall(r"https?://[^\"'`\s)]+", text):
            expect(url.startswith("http://www.w3.org/"), f"{name}: {url}")  # names of SVG and MathML


def test_texts_never_become_markup():
    for name, text in sources().items():
        for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            expect(forbidden not in text, f"{name}: {forbidden}")


# What the tests want of node is small: tests/apps/lesson/browser/node/ has it.
UNIT_PAGE = """<!doctype html><script type="importmap">{"imports": {
  "node:assert/strict": "/tests/apps/lesson/browser/node/assert.js", "node:fs": "/tests/apps/lesson/browser/node/fs.js",
  "node:test": "/tests/apps/lesson/browser/node/test.js"}}</script><script>globalThis.process = { env: {} };</script>"""


class Files(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript",
                      ".js": "text/javascript"}

    def do_GET(self):
        if self.path == "/units":
            body = UNIT_PAGE.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)
        else:
            super().do_GET()

    def log_message(self, *_):
        pass


@contextmanager
def served(folder):
    """An address under which the browser finds the files of a folder, and at /units a page for tests of modules."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def test_the_modules_pass_their_own_tests_in_the_browser():
    """tests/apps/lesson/page/*.test.mjs, which node --test runs as well."""
    with served(engine.ROOT) as address:
        for file in sorted(engine.ROOT.glob("tests/apps/lesson/page/*.test.mjs")):
            browser.driver().get(f"{address}/units")
            run_tests = """
                const [file, done] = arguments;
                Promise.all([import(file), import("/tests/apps/lesson/browser/node/test.js")])
                    .then(([, { finished }]) => finished())
                    .then(done, (error) => done({ count: 0, failures: [String(error.stack ?? error)] }));"""
            found = browser.driver().execute_async_script(run_tests, f"/tests/apps/lesson/page/{file.name}")
            expect(found["count"] > 0, f"{file.name}: no test ran")
            for failure in found["failures"]:
                expect(False, f"{file.name}: {failure}")
