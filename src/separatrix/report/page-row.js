// A row that is pasted: where it falls, and which class is predicted.

function startRow() {
  const form = byId("row-form");
  if (!form) return;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    tryRow(byId("row-text").value);
  });
  byId("row-text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) tryRow(event.target.value);
  });
  byId("row-clear").addEventListener("click", () => {
    byId("row-text").value = "";
    tried.clear();
    byId("row-said").replaceChildren();
    byId("what-if").replaceChildren();
    paintPanels();
  });
}

function tryRow(text) {
  const said = byId("row-said");
  tried.clear();
  try {
    const row = readRow(text, facts.readouts.features);
    const lines = facts.readouts.methods.map((map) => judgeRow(map, row));
    said.replaceChildren(...lines);
    offerWhatIf(row);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    said.replaceChildren(make("p", { class: "caution" }, error.message));
  }
  paintPanels();
}

// numbers in the order of the features: alone, or below a line of names in any order
function readRow(text, names) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  if (!lines.length) throw new RangeError("Paste the values of a row first.");
  const cells = lines.map(splitLine);
  let values = cells.flat();
  if (lines.length > 1 && cells[0].some((cell) => cell && Number.isNaN(toNumber(cell)))) {
    if (cells.length > 2) throw new RangeError(`One row at a time: there are ${cells.length - 1} below the names.`);
    const place = new Map(cells[0].map((name, j) => [name, j]));
    const missing = names.filter((name) => !place.has(name));
    if (missing.length) throw new RangeError(`The line of names has no ${missing[0]}${missing.length > 1 ? `, and ${missing.length - 1} more are missing` : ""}.`);
    values = names.map((name) => cells[1][place.get(name)] || "");
  }
  if (values.length !== names.length) {
    throw new RangeError(`${names.length} values are needed, one for each feature, and there are ${values.length}.`);
  }
  return values.map((cell, j) => {
    const value = toNumber(cell);
    if (!Number.isFinite(value)) throw new RangeError(`Value ${j + 1} (${names[j]}) is no number: ${cell ? `\u201c${cell}\u201d` : "it is empty"}.`);
    return value;
  });
}

// tabs or semicolons between values, where there are some: then a comma is a decimal point
function splitLine(line) {
  const mark = /[\t;]/.test(line) ? /[\t;]/ : /,/.test(line) ? /,/ : /\s+/;
  return line.trim().split(mark).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));
}

const toNumber = (cell) => (cell === "" ? NaN : Number(/^[^.]*,[^,]*$/.test(cell) ? cell.replace(",", ".") : cell));

const times = (matrix, offsets, row) =>
  matrix.map((weights, k) => weights.reduce((sum, w, j) => sum + w * row[j], offsets[k]));

function judgeRow(map, row) {
  const place = times(map.weights, map.offsets, row);
  const scores = times(map.class_weights, map.class_offsets, row);
  const order = scores.map((_, c) => c).sort((a, b) => scores[b] - scores[a]);
  const code = order.length ? order[0] : null;
  tried.set(map.name, { place, code });
  const where = place.map((v) => Number(v.toPrecision(3))).join(", ");
  return make("p", {}, make("b", {}, map.name), ": ",
    ...(code === null ? ["decides by other rows, which are not in this page"]
      : [icon(classes[code]), " ", make("b", {}, classes[code].name), ` (next: ${classes[order[1]].name})`]),
    place.length ? `; placed at ${where}` : "");
}
