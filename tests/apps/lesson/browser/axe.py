"""The accessibility checker axe-core, where it was installed."""

import browser
import engine
from report import Skipped

IN_PAGE = """
    window.seriousFindings = (where) => axe.run(where, { resultTypes: ["violations"] }).then(({ violations }) => violations
        .filter(({ impact }) => impact === "serious" || impact === "critical")
        .map(({ id, nodes }) => `${id}: ${nodes.length} times, ${nodes[0].html.slice(0, 160)} `
             + `${nodes[0].any[0]?.message ?? ""}`));
    if (window.pageTests) pageTests.seriousFindings = async (isWhole) => {
        await pageTests.nextFrame();  // what became wide is made scrollable then
        return seriousFindings(isWhole ? document : { include: [["main"], ["aside"]] });
    };"""


def prepare() -> None:
    """In the page that is open; in a lesson's there is pageTests.seriousFindings() after it."""
    file = engine.ROOT / "build/axe/node_modules/axe-core/axe.min.js"
    if not file.exists():
        raise Skipped("there is no axe-core; npm install --prefix build/axe axe-core")
    browser.script(file.read_text(encoding="utf-8"))
    browser.script(IN_PAGE)


def serious_findings() -> list:
    return browser.wait_for("seriousFindings(document).then(done);")
