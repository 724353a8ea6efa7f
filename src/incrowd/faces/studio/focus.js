// What is drawn anew, disabled or hidden loses the focus. It comes back to the same part of the page, or to one
// beside it, so that the keyboard goes on from there and not from the top of the page.
const NAMES = ["data-point", "data-mark", "data-field", "data-slider", "data-step", "data-column", "data-panel"];
const TAKES = "button, input, select, textarea, a[href], [tabindex]";
const usable = element =>
  element.matches(TAKES) && !element.disabled && element.checkVisibility({ visibilityProperty: true });
let last = null;

const nameOf = element => {
  const name = NAMES.find(each => element.hasAttribute(each));
  return name ? [`[${name}="${CSS.escape(element.getAttribute(name))}"]`] : [];
};

addEventListener("focusin", ({ target }) => {
  const above = [];
  for (let each = target; each && each !== document.body; each = each.parentElement) above.push(each);
  // A point of the verdict keeps its name wherever it stands.
  const named = target.hasAttribute("data-point") ? [target] : above;
  last = { target, above, names: named.flatMap(nameOf).reverse().join(" ") };
});
// A click beside everything takes the focus away on purpose.
addEventListener("pointerdown", ({ target }) => {
  if (!target.closest(TAKES)) last = null;
});

// A button that was disabled for the moment of a quick job has lost the focus, too.
new MutationObserver(() => {
  if (last !== null && !usable(last.target)) last.lost = true;
}).observe(document, { subtree: true, attributes: true, attributeFilter: ["disabled"] });

setInterval(() => {
  if (last === null || document.activeElement !== document.body || (!last.lost && usable(last.target))) return;
  const again = last.names && document.querySelector(last.names);
  const near = last.above.filter(each => each.isConnected);
  for (const place of [usable(last.target) && last.target, again, ...near].filter(Boolean))
    for (const each of [place, ...place.querySelectorAll(TAKES)].filter(usable)) {
      each.focus({ preventScroll: true });
      if (document.activeElement === each) return;
    }
}, 150);
