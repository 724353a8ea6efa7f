// The table in the middle of the page: the head and the cell of a column, and the rows as they are needed.
// Every text of a table becomes a text node, so that none is ever read as markup.
const part = (tag, classes, text) => {
  const made = document.createElement(tag);
  made.className = classes;
  if (text !== undefined) made.textContent = text;
  return made;
};

const hyphenated = word =>
  word.length < 8 ? word : word.replace(/(?<=\p{L}{3})(?=(?!(?<=[csp])h)\p{L}(?<![aeiouyäöü])[aeiouyäöü]\p{L})/giu, "\u00ad");

// Records before as grey bars, and after as coloured ones in front of them.
const drawBars = pairs => {
  const most = Math.max(1, ...pairs.flat());
  return pairs.map(([before, after]) => {
    const bar = part("span", "head-bar");
    bar.ariaHidden = "true";
    bar.appendChild(part("i", "before")).style.height = `${(100 * before) / most}%`;
    if (after !== null) bar.appendChild(part("i", "after")).style.height = `${(100 * after) / most}%`;
    return bar;
  });
};

// The parts of a head stay while they are told anew, so that none loses the focus or shuts its open list.
class Head {
  init(params) {
    const place = params.of.place;
    this.gui = part("div", "head");
    this.gui.dataset.column = place;
    this.open = this.gui.appendChild(part("button", "head-name"));
    this.open.dataset.mark = "open-column";
    this.open.onclick = () => emitEvent("open-column", place);
    this.line = this.gui.appendChild(part("div", "head-line"));
    this.role = this.line.appendChild(part("span", "head-role"));
    this.role.ariaHidden = "true";
    this.chip = this.line.appendChild(part("select", "head-chip"));
    this.chip.dataset.field = "role";
    for (const [value, text] of params.of.roles) this.chip.add(new Option(text, value));
    this.chip.onchange = () => emitEvent("give-role", { place, role: this.chip.value });
    this.mark = part("button", "head-mark");
    this.mark.dataset.mark = "column-points";
    this.mark.onclick = this.open.onclick;
    this.bars = this.gui.appendChild(part("div", "head-bars"));
    this.refresh(params);
  }
  getGui() {
    return this.gui;
  }
  refresh(params) {
    const { name, role, mark, roles, pairs, lost, state, points, pressed } = params.of;
    this.gui.dataset.role = this.chip.value = role;
    this.open.title = this.open.ariaLabel = name;
    this.open.ariaPressed = String(pressed);
    // A long name breaks at its joints, and a long word of it between two syllables, with a hyphen.
    const pieces = name.split(/(?<=[_.\-/ ])|(?<=[a-z])(?=[A-Z])/);
    this.open.replaceChildren(...pieces.flatMap(piece => [hyphenated(piece), part("wbr", "")]));
    this.role.textContent = mark;
    this.chip.ariaLabel = `Role of ${name}`;
    this.chip.title = roles.find(([value]) => value === role)[1];
    if (state) this.line.append(this.mark);
    else this.mark.remove();
    this.mark.className = `head-mark ${state}`;
    this.mark.textContent = { broken: "✖", open: "!", beside: "·" }[state];
    if (state) this.mark.ariaLabel = this.mark.title = points;
    this.bars.replaceChildren(...drawBars(pairs));
    if (lost) this.bars.appendChild(part("span", "head-lost", lost)).title = "What a cell lost on average";
    return true;
  }
}

const drawCell = ({ value }) => {
  if (value === undefined || value === null || typeof value === "string") return part("span", "", value ?? "");
  const cell = part("span", "changed");
  cell.append(part("b", value.now === "*" ? "gone" : "", value.now), part("span", "spoken", ", before "));
  cell.append(part("s", "", value.was));
  cell.title = cell.textContent;
  return cell;
};

// The grid asks for rows when they come into sight; the server answers each question by its number.
const waiting = new Map();
let asked = 0;
window.incrowd = {
  Head,
  drawCell,
  // Tab goes through the heads to one cell, the last that had the focus, and on; arrows go from cell to cell.
  takeTab({ api }) {
    const grid = document.querySelector(".rows"), rows = grid.querySelector(".ag-center-cols-viewport");
    const bar = grid.querySelector(".ag-body-vertical-scroll-viewport");
    rows.tabIndex = 0;
    rows.ariaLabel = "Rows";
    rows.addEventListener("focusin", ({ target }) => {
      rows.tabIndex = -1;
      target.tabIndex = 0; // What scrolls would be a stop of its own if nothing inside were.
      if (target !== rows) return;
      const { rowIndex = api.getFirstDisplayedRowIndex(), column = api.getAllDisplayedColumns()[0] } = api.getFocusedCell() ?? {};
      if (column) api.setFocusedCell(rowIndex, column);
    });
    rows.addEventListener("focusout", ({ target }) => {
      target.tabIndex = -1;
      rows.tabIndex = 0;
    });
    bar.tabIndex = -1;
    bar.ariaHidden = "true";
    grid.addEventListener("keydown", event => event.key === "Tab" && event.stopPropagation(), true);
    // On a small screen the panel comes before the table, for Tab, too.
    const desk = grid.closest(".desk"), side = desk.querySelector(".side"), small = matchMedia("(max-width: 800px)");
    const place = () => desk[small.matches ? "prepend" : "append"](side);
    small.addEventListener("change", place);
    place();
  },
  rows: {
    getRows(params) {
      waiting.set(++asked, params);
      emitEvent("rows", { question: asked, first: params.startRow, end: params.endRow });
    },
  },
  give(question, rows, height) {
    const params = waiting.get(question);
    waiting.delete(question);
    if (rows === null) params?.failCallback();
    else params?.successCallback(rows, height);
  },
};
