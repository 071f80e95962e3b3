"""One Chromium for all tests of a process, without a window. It logs what pages ask for and complain about."""

import json
import os
import re
import shutil
from pathlib import Path

from report import Skipped, expect

_driver = None

# Debian's chromium-headless-shell is a script around the first: who ends the script does not end the browser.
BROWSERS = ("/usr/lib/chromium/chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def _start():
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    binary = os.environ.get("QKV_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if not binary or not driver:
        raise Skipped("there is no Chromium with its driver (Debian: chromium-headless-shell chromium-driver)")
    options = Options()
    options.binary_location = binary
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--window-size=1280,900"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses its own for root
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(service=Service(driver), options=options)
    started.set_script_timeout(300)
    return started


def driver():
    global _driver
    if _driver is None:
        _driver = _start()
    return _driver


def begin_test() -> None:
    """As if no other test had been there before, but that its page is still open."""
    if _driver is not None:
        command("Emulation.clearDeviceMetricsOverride")
        prefer()
        for log in ("browser", "performance"):
            _driver.get_log(log)


def close() -> None:
    global _driver
    if _driver is not None:
        _driver.quit()
    _driver = None


def leave() -> None:
    """So that who opens the same page opens it anew."""
    driver().get("about:blank")


def is_open(path) -> bool:
    """With the functions of in_page.js."""
    uri = Path(path).absolute().as_uri()
    return driver().current_url.split("#")[0] == uri and script("return 'pageTests' in window")


def open_page(path, address: str = "") -> None:
    """Anew, until it is drawn: a lesson is unpacked first."""
    leave()
    driver().get(Path(path).resolve(strict=True).as_uri() + address)
    wait_for("""
        const root = document.getElementById("lesson");
        const drawn = () => requestAnimationFrame(() => setTimeout(done));
        if (!root || root.firstChild) drawn();
        else new MutationObserver(drawn).observe(root, { childList: true });
        setTimeout(done, 20000);""")


def script(source: str, *arguments):
    return driver().execute_script(source, *arguments)


def wait_for(source: str, *arguments):
    """What it gives to done()."""
    return driver().execute_async_script(f"const done = arguments[arguments.length - 1]; {source}", *arguments)


def comes_true(condition: str) -> bool:
    """Whether a condition of JavaScript is true within ten seconds: what a key begins may end in a later task."""
    return wait_for("""
        const condition = new Function(`return ${arguments[0]}`);
        const end = performance.now() + 10000;
        const look = () => (condition() ? done(true) : performance.now() > end ? done(false) : setTimeout(look, 20));
        look();""", condition)


def command(name: str, **parameters):
    """Of the DevTools protocol."""
    return driver().execute_cdp_cmd(name, parameters)


CODES = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36,
         "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "?": 191}


def press(key: str) -> None:
    text = {"Enter": "\r", " ": ""}.get(key, key if len(key) == 1 else "")
    code = CODES.get(key) or ord(key.upper())
    typed = {"key": key, "code": key, "windowsVirtualKeyCode": code, **({"text": text} if text else {})}
    command("Input.dispatchKeyEvent", type="keyDown", **typed)
    command("Input.dispatchKeyEvent", type="keyUp", **typed)


def resize(width: int, height: int = 900) -> None:
    command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)


def prefer(**features: str) -> None:
    """prefer(color_scheme="dark", reduced_motion="reduce"); nothing: as before."""
    named = [{"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()]
    command("Emulation.setEmulatedMedia", media="", features=named)


def console() -> list:
    """What was said on the console, and of refused or failed requests, since the last look."""
    return [entry["message"] for entry in driver().get_log("browser")]


def uncaught() -> list:
    """What no script has caught, if a test has not looked at the console itself."""
    return [message for message in console() if "Uncaught" in message] if _driver is not None else []


def expect_quiet(page, where: str) -> None:
    """Since the last look the page asked for no other file or server, and said nothing on the console."""
    messages = [json.loads(entry["message"])["message"] for entry in driver().get_log("performance")]
    sent = [message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"]
    own = Path(page).absolute().as_uri()
    asked = [url for url in sent if not url.startswith(("about:", "data:", "blob:")) and re.split("[#?]", url)[0] != own]
    expect(not asked, f"{where}: asks for {asked}")
    said = console()
    expect(not said, f"{where}: on the console: {said}")
