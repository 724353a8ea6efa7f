"""The studio in a separate process, and a browser with the clicks of a user."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spark_session import SOURCES

__all__ = ["PANELS", "Studio", "Visit", "new_browser", "require_browser"]

WAIT = 60.0
"""Seconds until a test gives a page up."""
PANELS = ("Table", "Column", "Limits", "Tables", "Explore", "Verdict", "Hand over")
"""The panels beside the table, in the order of their tabs."""


def require_browser() -> None:
    """Skip without NiceGUI, Selenium, Chromium or the driver, or fail if the run requires all."""
    missing = None
    try:
        import nicegui  # noqa: F401
        import selenium  # noqa: F401
    except ImportError as error:
        missing = f"{error.name} is not installed"
    for program in ("chromium", "chromedriver"):
        if missing is None and shutil.which(program) is None:
            missing = f"{program} is not installed"
    if missing is not None:
        (pytest.fail if os.environ.get("INCROWD_REQUIRE_SERVICES") == "1" else pytest.skip)(missing)


class Studio:
    """``incrowd studio`` with arguments, up to the end of the process.

    Attributes
    ----------
    address
        What it printed, with the token.
    base
        The address without it.
    temporary
        The folder in which it has its private ones.

    Parameters
    ----------
    first
        A folder of modules that come before all others, with the sign that parts folders.
    """

    def __init__(self, folder: Path, *arguments: object, first: str = "") -> None:
        self.temporary = folder / "temporary"
        self.temporary.mkdir(exist_ok=True)
        self.errors, self._told = folder / "errors", folder / "told"
        surroundings = {**os.environ, "TMPDIR": str(self.temporary), "PYTHONPATH": first + SOURCES}
        with self.errors.open("wb") as errors, self._told.open("wb") as told:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "incrowd", "studio", *map(str, arguments), "--no-browser"],
                stdout=told,
                stderr=errors,
                cwd=folder,
                env=surroundings,
            )
        self.address = self._address()
        self.base = self.address.partition("/?")[0]

    @property
    def process(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def told(self) -> str:
        """The standard output so far."""
        return self._told.read_text()

    def _address(self) -> str:
        end = time.monotonic() + WAIT
        while time.monotonic() < end and self._process.poll() is None:
            if match := re.search(r"(http://\S+)\n", self.told):
                return match[1]
            time.sleep(0.05)
        self._process.kill()
        self._process.wait()
        raise AssertionError(f"no address: {self.told} {self.errors.read_text()}")

    @property
    def folders(self) -> list[Path]:
        """The private folders that are there."""
        return sorted(self.temporary.rglob("incrowd-*.tmp"))

    def end(self, number: int = signal.SIGINT) -> int:
        """End the process as Ctrl-C does, and return the status."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        try:
            return self._process.wait(WAIT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise


def new_browser(downloads: Path):
    """Start a browser without a window."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--disable-extensions",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--window-size=1440,1000",
        # Without a graphics card each frame of what turns while somebody waits is painted by the processor.
        "--force-prefers-reduced-motion",
    ):
        options.add_argument(argument)
    preferences = {
        "download.default_directory": str(downloads),
        "download.prompt_for_download": False,
        # Scripts are kept without a question, which a browser without a window could not ask.
        "safebrowsing.enabled": True,
    }
    options.add_experimental_option("prefs", preferences)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def _lasting(visit: Visit, selector: str, first):
    """Return an element that is found again after each new drawing of the page."""
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.remote.webelement import WebElement

    class Lasting(WebElement):
        def _again(self, ask):
            try:
                return ask()
            except StaleElementReferenceException:
                self._id = visit.until(lambda: visit.shown(selector), selector).id
                return ask()

        def _execute(self, command, params=None):
            return self._again(lambda: WebElement._execute(self, command, params))

        def get_attribute(self, name):
            return self._again(lambda: WebElement.get_attribute(self, name))

        def is_displayed(self):
            return self._again(lambda: WebElement.is_displayed(self))

    return Lasting(first.parent, first.id)


_SHOWN = """
const sized = each => each.getBoundingClientRect().width > 0 && each.getBoundingClientRect().height > 0;
const cut = each => each && getComputedStyle(each).position !== 'fixed' && each.parentElement
    && (getComputedStyle(each.parentElement).overflow !== 'visible' && !sized(each.parentElement)
        || cut(each.parentElement));
return [...document.querySelectorAll(arguments[0])].find(each =>
    each.checkVisibility({visibilityProperty: true, opacityProperty: true})
    && [each, ...each.querySelectorAll('*')].some(sized) && !cut(each)) ?? null;
"""
"""The script that finds what can be seen. To ask the driver for each element takes a hundred times longer."""


_PATIENCE = 5.0
"""Seconds after which a list that is not open is opened again."""


_AIM = """
const wanted = arguments[0];
wanted.scrollIntoView({block: 'center'});
window.aim?.();
let missed = false, reached = false;
const look = event => {
    if (event.type === 'pointerdown') missed = !wanted.contains(event.target);
    if (missed) { event.preventDefault(); event.stopImmediatePropagation(); }
    else if (event.type === 'click' && wanted.contains(event.target)) reached = true;
};
const kinds = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click'];
kinds.forEach(kind => window.addEventListener(kind, look, true));
window.aim = () => {
    kinds.forEach(kind => window.removeEventListener(kind, look, true));
    window.aim = undefined;
    return reached;
};
"""
"""The script that keeps a click from all but one element: what is drawn may move just before the click."""


_SCROLL = """
const view = document.querySelector('.rows .ag-body-horizontal-scroll-viewport');
const end = view.scrollLeft + view.clientWidth >= view.scrollWidth - 1;
view.scrollLeft = end ? 0 : view.scrollLeft + view.clientWidth / 2;
"""
"""The script that moves the table sideways, and from its right end back to the left one."""


class Visit:
    """A window of the browser on a studio.

    Attributes
    ----------
    clicks
        How often something was clicked so far.
    typed
        How many fields were written into so far.
    """

    def __init__(self, browser, studio: Studio, downloads: Path) -> None:
        self.browser = browser
        self.downloads = downloads
        self.clicks = self.typed = 0
        browser.get(studio.address)
        self.wait(".studio")
        self.connected()

    def connected(self) -> None:
        """Wait for the connection: until then a click may overtake earlier typing."""
        holds = "return window.did_handshake === true"
        self.until(lambda: self.browser.execute_script(holds), "the connection")

    def all(self, selector: str):
        return self.browser.find_elements("css selector", selector)

    def shown(self, selector: str):
        """The first element of a selector that can be seen."""
        return self.browser.execute_script(_SHOWN, selector)

    def until(self, holds, what: str, seconds: float = WAIT):
        from selenium.common.exceptions import StaleElementReferenceException

        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if result := holds():
                    return result
            except StaleElementReferenceException:
                pass
            time.sleep(0.05)
        raise AssertionError(f"{what} did not come; the page says: {self.told()}")

    def wait(self, selector: str):
        """Wait for the first element of a selector that can be seen."""
        return _lasting(self, selector, self.until(lambda: self.shown(selector), selector))

    def click(self, selector: str) -> None:
        """Click the first match of a selector, as soon as possible."""

        def clicked() -> bool:
            result = self.shown(selector)
            if (
                result is None
                or not result.is_enabled()
                or "disabled" in (result.get_attribute("class") or "")
            ):
                return False
            return self.press(result)

        self.until(clicked, f"a click on {selector}")
        self.clicks += 1

    def press(self, element) -> bool:
        """Press an element and nothing else, and return whether the click arrived."""
        from selenium.common.exceptions import WebDriverException

        try:
            self.browser.execute_script(_AIM, element)
            element.click()
        except WebDriverException:
            return False
        try:
            return self.browser.execute_script("return window.aim ? window.aim() : true")
        except WebDriverException:  # The click has led to another page.
            return True

    def mark(self, name: str) -> None:
        self.click(f'[data-mark="{name}"]')

    def unfold(self, mark: str) -> None:
        """Open or close a place of advanced settings."""
        self.click(f'[data-mark="{mark}"] .q-item')

    def go(self, panel: str) -> None:
        """Go to a panel by name."""
        tab = self.tab(panel)
        self.click(tab)
        self.until(lambda: "q-tab--active" in self.all(tab)[0].get_attribute("class"), panel)

    def tab(self, panel: str) -> str:
        """Return the selector of the tab of a panel."""
        return f'.q-tab[data-step="{PANELS.index(panel) + 1}"]'

    def is_shut(self, panel: str) -> bool:
        """Say whether a panel cannot be gone to."""
        return "disabled" in self.all(self.tab(panel))[0].get_attribute("class")

    def head(self, place: int) -> str:
        """Bring the head of a column into sight, by position, and return the selector."""
        head = f'.head[data-column="{place}"]'

        def there() -> bool:
            if self.shown(head) is not None:
                return True
            # The grid draws the heads that are in sight and no others.
            self.browser.execute_script(_SCROLL)
            return False

        self.until(there, head)
        return f"{head} "

    def give(self, place: int, role: str) -> None:
        """Give a column a role in the head: open the list, and take the role."""
        from selenium.webdriver.support.ui import Select

        head = self.head(place)

        def chosen() -> bool:
            Select(self.all(f"{head}[data-field=role]")[0]).select_by_value(role)
            return True

        self.until(chosen, f"the role {role}")
        self.clicks += 2
        self.until(lambda: self.role(place) == role, role)

    def role(self, place: int) -> str:
        """Return the role of a column, by position."""
        return self.wait(self.head(place)).get_attribute("data-role")

    def column(self, place: int, fold: str = "") -> str:
        """Open the panel of a column, with a fold, and return the selector of the panel."""
        panel = f'[data-panel="{place}"]'
        if self.shown(panel) is None:
            self.click(f"{self.head(place)}[data-mark=open-column]")
            self.wait(panel)
        inside = f".q-tab-panel:has({panel}) [data-mark=fold-{fold}]"
        closed = f"{inside}.q-expansion-item--collapsed"
        if fold and self.wait(inside) and self.shown(closed):
            self.click(f"{closed} .q-item")
        return f".q-tab-panel:has({panel}) "

    def view(self, word: str) -> None:
        """Show the rows before, after, or both."""

        def pressed() -> bool:
            return any(self.press(each) for each in self.all("[data-mark=view] button") if each.text == word)

        self.until(pressed, word)
        self.clicks += 1

    def row(self, number: int = 0) -> list[str]:
        """Return the texts of the cells in sight of a row of the table, with both texts of changed cells."""
        cells = self.all(f'.rows .ag-row[row-index="{number}"] .ag-cell')
        return [each.get_attribute("textContent") for each in cells]

    def judged(self, seconds: float = WAIT) -> str:
        """Wait for the verdict of the present table, and return the verdict."""

        def told() -> str:
            if self.shown('[aria-label="Measuring"]') is not None:
                return ""
            result = self.shown("[data-mark=status-verdict]")
            return "" if result is None else result.text

        return self.until(told, "the verdict", seconds)

    def hand_over(self, why: str = "looked at") -> list[str]:
        """Answer every point of the verdict, go to the downloads, and return the points' texts."""
        self.judged()
        self.go("Verdict")
        self.wait("[data-mark=accept], [data-mark=to-hand-over]")
        said = [each.text for each in self.all('[data-mark^="point-"]')]
        self.answer(why)
        self.mark("to-hand-over")
        self.wait("[data-mark=get-release]")
        return said

    def answer(self, why: str = "looked at") -> None:
        """Fill every field of the gate, and accept."""
        for field in ("why", "by", "says"):
            for each in self.all(f'[data-field^="{field}-"]'):
                self.fill(f'[data-field="{each.get_attribute("data-field")}"]', why)
        if self.all("[data-mark=accept]"):
            self.mark("accept")

    def fill(self, selector: str, text: str) -> None:
        """Write into a field in place of the old text."""
        from selenium.webdriver.common.keys import Keys

        field = self.wait(selector)
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", field)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text if text else Keys.DELETE)
        self.typed += 1

    def key(self, key: str, *, shift: bool = False) -> None:
        """Press a key where the focus is, beside Shift if asked for."""
        from selenium.webdriver import ActionChains
        from selenium.webdriver.common.keys import Keys

        keys = ActionChains(self.browser)
        (
            keys.key_down(Keys.SHIFT).send_keys(key).key_up(Keys.SHIFT) if shift else keys.send_keys(key)
        ).perform()

    def slide(self, key: str, steps: int) -> None:
        """Move a slider of the bar of limits by some steps, as fast as the keyboard does."""
        from selenium.webdriver.common.keys import Keys

        thumb = self.wait(f"[data-slider={key}]")
        thumb.send_keys((Keys.ARROW_RIGHT if steps > 0 else Keys.ARROW_LEFT) * abs(steps))

    def drop(self, *paths: Path, zone: str = "upload") -> None:
        """Put files into a drop zone at once."""

        def dropped() -> bool:
            self.all(f"[data-mark={zone}] input[type=file]")[0].send_keys("\n".join(map(str, paths)))
            return True

        self.wait(f"[data-mark={zone}]")
        # The page draws the zone once more when it offers what another window left.
        self.until(dropped, "the drop zone")

    def _pick(self, option: str) -> bool:
        """Press the option of the open list with the given beginning, if shown."""
        for each in self.all(".q-menu .q-item"):
            if each.is_displayed() and each.text.strip().startswith(option):
                return self.press(each)
        return False

    def _choose(self, selector: str, option: str, opened: float) -> float:
        """Choose an option of a list that was opened, and return the time of the last opening.

        A list that the page closes, since it was drawn anew meanwhile, is opened again, as its reader would.
        """

        def chosen() -> bool:
            nonlocal opened
            if time.monotonic() - opened > _PATIENCE and self.shown(".q-menu") is None:
                self.click(selector)
                opened = time.monotonic()
            return self._pick(option)

        self.until(chosen, f"the option {option}")
        return opened

    def choose(self, selector: str, option: str) -> None:
        """Choose from a list by the beginning of the option."""
        self.click(selector)
        self._choose(selector, option, time.monotonic())
        self.clicks += 1
        self.until(lambda: not self.all(".q-menu"), "the end of the list")

    def choose_several(self, selector: str, *options: str) -> None:
        """Choose from a list that stays open, by the beginning of each option."""
        from selenium.webdriver.common.keys import Keys

        self.click(selector)
        opened = time.monotonic()
        for option in options:
            opened = self._choose(selector, option, opened)
        self.key(Keys.ESCAPE)
        self.until(lambda: not self.all(".q-menu"), "the end of the list")

    def told(self) -> str:
        """Return the page's texts beside the table."""
        return "\n".join(each.text[:800] for each in self.all(".bars-above, .side") if each.is_displayed())

    def text(self) -> str:
        return self.browser.find_element("css selector", "body").text

    def reads(self, text: str) -> None:
        """Wait until the page has a text."""
        inside = "return document.body.innerText.includes(arguments[0])"
        self.until(lambda: self.browser.execute_script(inside, text), repr(text))

    def resize(self, width: int, theme: str = "light", height: int = 1000) -> None:
        """Give the window another size, and the system another theme."""
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        self.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        )
        self.until(lambda: self.browser.execute_script("return innerWidth") == width, "the width")
        dark = theme == "dark"
        self.until(lambda: bool(self.all("body.body--dark")) is dark, "the theme")

    def settle(self) -> None:
        """Wait until nothing moves any more: a colour that changes is measured as any in between."""
        self.until(
            lambda: self.browser.execute_script(
                "return document.getAnimations().every(a => a.playState !== 'running'"
                " || a.effect.getComputedTiming().iterations === Infinity)"
            ),
            "the end of what moves",
        )

    def take(self, mark: str, name: str) -> Path:
        """Take a button's file, and return the file."""
        target = self.downloads / name
        target.unlink(missing_ok=True)
        self.mark(mark)
        # The browser holds the name with an empty file, and moves the whole one over it when it has come.
        self.until(lambda: target.exists() and target.stat().st_size, name)
        return target
