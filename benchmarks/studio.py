"""How long the studio takes from a step of a slider to the new figures, and to the verdict.

Run with ``python benchmarks/studio.py --help``. A browser without a window opens tables of several sizes, and
moves the slider of k one step at a time. The page takes the times: from the key to the first change of the
figures, and to the verdict after it. Above 100,000 rows the figures are of a sample, and a release is made
when the reader asks for it. Its time stands in place of the verdict's.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from incrowd.samples import hospital

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from studio_browser import Studio, Visit, new_browser

WATCH = """
const place = document.querySelector('.figure-tiles').closest('.q-page, body');
const words = () => [...place.querySelectorAll('.figure-tiles b')].map(each => each.textContent).join('|');
const verdict = () => place.querySelector('[data-mark=status-verdict]');
window.steps = [];
addEventListener('keydown', () => {
    const step = {key: performance.now(), before: words()};
    window.steps.push(step);
    let left = false;
    const look = new MutationObserver(() => {
        left ||= !verdict();
        if (step.figures === undefined && words() && words() !== step.before)
            step.figures = performance.now() - step.key;
        if (left && verdict()) { step.verdict = performance.now() - step.key; look.disconnect(); }
    });
    look.observe(document.body, {childList: true, subtree: true, characterData: true});
}, true);
"""


def resident(process: int) -> int:
    """Return the MB that a process has in memory now."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) // 1024


def main() -> None:
    """Open each table, move the slider, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[3_000, 30_000, 1_000_000])
    parser.add_argument("--steps", type=int, default=12, help="steps of the slider")
    given = parser.parse_args()
    shown = Table("rows", "open s", "first figures s", "figures ms", "verdict ms", "release s", "MB")
    for rows in given.rows:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            table = hospital(rows).select("age", "sex", "zip", "diagnosis")
            table.write_csv(folder / "people.csv")
            studio, browser = Studio(folder), new_browser(folder)
            try:
                visit = Visit(browser, studio, folder)
                begin = time.perf_counter()
                visit.fill("[data-field=path]", str(folder / "people.csv"))
                visit.mark("open")
                visit.reads(f"{rows:,} rows")
                opened = time.perf_counter() - begin
                visit.until(lambda at=visit: at.shown(".figure-tiles b"), "the figures", 120)
                first = time.perf_counter() - begin
                large = rows > 100_000
                if not large:
                    visit.judged()
                browser.execute_script(WATCH)
                last = f"return steps.at(-1).{'figures' if large else 'verdict'} ?? 0"
                for _ in range(given.steps):
                    visit.slide("k", 1)
                    # A step that changes no figure has no time.
                    with suppress(AssertionError):
                        visit.until(lambda to=browser, last=last: to.execute_script(last), "figures", 5)
                    time.sleep(0.5)
                steps = browser.execute_script("return steps")
                verdicts = [step["verdict"] for step in steps if step.get("verdict") is not None]
                begin = time.perf_counter()
                if large:
                    visit.mark("run")
                    visit.judged(600)
                shown.add_row(
                    f"{rows:,}", f"{opened:.1f}", f"{first:.1f}",
                    f"{median(step['figures'] for step in steps if step.get('figures') is not None):.0f}",
                    f"{median(verdicts):.0f}" if verdicts else "",
                    f"{time.perf_counter() - begin:.1f}" if large else "",
                    f"{resident(studio.process):,}",
                )  # fmt: skip
            finally:
                browser.quit()
                studio.end()
    Console().print(shown)


if __name__ == "__main__":
    main()
