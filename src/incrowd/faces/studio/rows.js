// The table in the middle of the page: the head and the cell of a column, and the rows as they are needed.
// Every text of a table becomes a text node, so that none is ever read as markup.
const part = (tag, classes, text) => {
  const made = document.createElement(tag);
  made.className = classes;
  if (text !== undefined) made.textContent = text;
  return made;
};

// Records before as grey bars, and after as coloured ones in front of them.
const drawBars = pairs => {
  const most = Math.max(1, ...pairs.flat());
  const bars = part("div", "head-bars");
  for (const [before, after] of pairs) {
    const bar = bars.appendChild(part("span", "head-bar"));
    bar.ariaHidden = "true";
    bar.appendChild(part("i", "before")).style.height = `${(100 * before) / most}%`;
    if (after !== null) bar.appendChild(part("i", "after")).style.height = `${(100 * after) / most}%`;
  }
  return bars;
};

class Head {
  init(params) {
    this.gui = part("div", "head");
    this.refresh(params);
  }
  getGui() {
    return this.gui;
  }
  refresh(params) {
    const { place, name, role, word, roles, pairs, lost, state, points } = params.of;
    this.gui.dataset.role = role;
    this.gui.dataset.column = place;
    const open = part("button", "head-name");
    // A long name breaks at its joints, and never in mid-word.
    for (const piece of name.split(/(?<=[_.\-/ ])|(?<=[a-z])(?=[A-Z])/)) open.append(piece, part("wbr", ""));
    open.dataset.mark = "open-column";
    open.title = name;
    open.ariaPressed = String(params.of.pressed);
    open.onclick = () => emitEvent("open-column", place);
    const line = part("div", "head-line");
    if (roles) {
      const chip = line.appendChild(part("select", "head-chip"));
      chip.dataset.field = "role";
      chip.ariaLabel = `Role of ${name}`;
      for (const [value, text] of roles) chip.add(new Option(text, value, value === role, value === role));
      chip.onchange = () => emitEvent("give-role", { place, role: chip.value });
    } else line.appendChild(part("span", "head-chip", word));
    if (state) {
      const mark = line.appendChild(part("button", `head-mark ${state}`, state === "broken" ? "✖" : "!"));
      mark.ariaLabel = points;
      mark.title = points;
      mark.dataset.mark = "column-points";
      mark.onclick = open.onclick;
    }
    const bars = drawBars(pairs);
    if (lost) bars.appendChild(part("span", "head-lost", lost)).title = "What a cell lost on average";
    this.gui.replaceChildren(open, line, bars);
    return true;
  }
}

const drawCell = ({ value }) => {
  if (value === undefined || value === null || typeof value === "string") return part("span", "", value ?? "");
  const cell = part("span", "changed");
  cell.append(part("s", "", value.was), part("span", "arrow", " → "), part("span", "spoken", ` ${value.verb} `));
  cell.querySelector(".arrow").ariaHidden = "true";
  cell.append(part("b", value.now === "*" ? "gone" : "", value.now));
  cell.title = `${value.was} ${value.verb} ${value.now}`;
  return cell;
};

// The grid asks for rows when they come into sight; the server answers each question by its number.
const waiting = new Map();
let asked = 0;
window.incrowd = {
  Head,
  drawCell,
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
