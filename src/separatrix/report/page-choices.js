// Choices of the reader: a method of the leaderboard, rows in a box, a threshold, what if.

const csvCell = (value) => (typeof value === "string" ? `"${value.replaceAll('"', '""')}"` : value === null ? "" : String(value));
const writeCsv = (lines) => lines.map((line) => line.map(csvCell).join(",")).join("\n") + "\n";
const short = (value) => String(Number(value.toPrecision(3)));

// Tables that are sorted by a click on their head.

function cellValue(row, column) {
  const text = row.children[column].dataset.value || row.children[column].textContent.trim();
  const number = Number.parseFloat(text);
  return Number.isFinite(number) && !/^[^\d]*[a-z]{3}/i.test(text) ? number : text;
}

function makeSortable(table, columns) {
  const heads = [...table.tHead.rows[0].cells];
  for (const j of columns) {
    const words = heads[j].textContent;
    const button = make("button", { type: "button", class: "sort" }, words);
    heads[j].replaceChildren(button);
    button.addEventListener("click", () => {
      const down = heads[j].getAttribute("aria-sort") !== "descending";
      heads.forEach((head) => head.removeAttribute("aria-sort"));
      heads[j].setAttribute("aria-sort", down ? "descending" : "ascending");
      const sorted = [...table.tBodies[0].rows].sort((a, b) => {
        const [x, y] = [cellValue(a, j), cellValue(b, j)];
        const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
        return down ? -order : order;
      });
      table.tBodies[0].append(...sorted);
    });
  }
}

// A click on a method of the leaderboard shows it in the first picture, the matrix and the weights.

function startLeaderboard() {
  const table = document.querySelector("#leaderboard table.board");
  if (!table) return;
  makeSortable(table, [0, 1, 2, 5, 6]);
  facts.leaderboard.rows.forEach(({ name }, i) => {
    const head = table.tBodies[0].rows[i].querySelector("th .name");
    const button = make("button", { type: "button", class: "pick", title: "Show this method everywhere" }, ...head.childNodes);
    button.addEventListener("click", () => showMethod(name));
    head.append(button);
  });
}

function showMethod(name) {
  for (const select of [".panel select", "#matrices select", "#weights select"].map((s) => document.querySelector(s))) {
    if (!select || ![...select.options].some((option) => option.value === name)) continue;
    select.value = name;
    select.dispatchEvent(new Event("change"));
  }
  byId("live").textContent = `${name} is shown`;
}

// Which features differ between the rows in a box and the others.

function tellSelection() {
  const holder = byId("selected");
  if (!holder) return;
  const { features, columns } = facts.values;
  if (!shown.marked || !features.length || shown.marked.size === rows.labels.length) return holder.replaceChildren();
  const parts = features.map((feature, j) => {
    const [inside, outside] = [[], []];
    columns[j].forEach((v, i) => { if (v !== null) (shown.marked.has(i) ? inside : outside).push(v); });
    const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
    const [a, b] = [mean(inside), mean(outside)];
    const within = [...inside.map((v) => (v - a) ** 2), ...outside.map((v) => (v - b) ** 2)];
    const spread = Math.sqrt(mean(within));
    return { feature, a, b, gap: inside.length && outside.length ? (a - b) / (spread || 1e-300) : 0 };
  });
  parts.sort((p, q) => Math.abs(q.gap) - Math.abs(p.gap));
  const body = parts.slice(0, 8).map(({ feature, a, b, gap }) =>
    make("tr", {}, make("th", { scope: "row" }, feature), make("td", {}, short(a)), make("td", {}, short(b)), make("td", {}, `${gap > 0 ? "+" : "\u2212"}${Math.abs(gap).toFixed(1)}`)));
  const head = make("tr", {}, ...["feature", "mean of the marked rows", "of the others", "gap in standard deviations"].map((text) => make("th", { scope: "col" }, text)));
  holder.replaceChildren(make("h3", {}, `What distinguishes the ${shown.marked.size} marked rows`),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Features that differ" },
      make("table", {}, make("thead", {}, head), make("tbody", {}, ...body))));
}

// Rows on which two methods disagree.

function startDisagreement() {
  const holder = byId("disagree");
  if (!holder) return;
  const names = rows.views.filter((view) => !view.labels).map((view) => view.name);
  if (names.length < 2) return holder.closest("details").remove();
  const chosen = [names[0], names[1]];
  const body = make("div");
  const show = () => {
    const [a, b] = chosen.map((name) => views.get(name));
    const found = rows.labels.map((_, i) => i).filter((i) => a.predicted[i] !== b.predicted[i]);
    const head = ["row", "class", ...chosen];
    const lines = found.map((i) => [rowName(i), classes[rows.labels[i]].name, classes[a.predicted[i]].name, classes[b.predicted[i]].name]);
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, ...lines.map((line) => make("tr", {}, make("th", { scope: "row" }, line[0]), ...line.slice(1).map((text) => make("td", {}, text))))));
    const save = make("button", { type: "button", onclick: () => saveFile("disagreements.csv", "text/csv", writeCsv([head, ...lines])) }, "Save as CSV");
    body.replaceChildren(make("p", { class: "fine" }, `${found.length} of ${rows.labels.length} rows.`),
      ...(found.length ? [make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Rows" }, table), save] : []));
  };
  const pick = (place) => choice(`Method ${place + 1}`, names, chosen[place], (name) => { chosen[place] = name; show(); });
  holder.append(make("div", { class: "tools" }, pick(0), pick(1)), body);
  show();
}

// Two classes: a threshold, and what it costs.

function startThreshold() {
  const holder = byId("threshold");
  if (!holder) return;
  const { methods, costs } = facts.threshold;
  const byName = new Map(methods.map((method) => [method.name, method]));
  let method = methods[0];
  const body = make("div");
  const slider = make("input", { type: "range", min: 0, max: 1000, value: 500, "aria-label": "Threshold" });
  const sorted = () => [...method.degrees].filter((v) => v !== null).sort((a, b) => a - b);
  const cut = () => {
    if (method.probability) return slider.value / 1000;
    const order = sorted();
    return order[Math.min(order.length - 1, Math.floor((slider.value / 1000) * order.length))];
  };
  const show = () => {
    const at = cut(), counts = [[0, 0], [0, 0]];
    method.degrees.forEach((v, i) => { if (v !== null) counts[method.truth[i]][v > at ? 1 : 0] += 1; });
    const [[tn, fp], [fn, tp]] = counts;
    const share = (a, b) => (a + b ? percent(a / (a + b)) : "\u2013");
    const n = tn + fp + fn + tp;
    const cost = costs ? short((tn * costs[0][0] + fp * costs[0][1] + fn * costs[1][0] + tp * costs[1][1]) / n) : null;
    const said = [["threshold", short(at)], ["correct", share(tn + tp, fp + fn)], ["precision", share(tp, fp)], ["recall", share(tp, fn)],
      ["specificity", share(tn, fp)], ...(cost === null ? [] : [["cost of a row", cost]])];
    const head = make("tr", {}, make("td"), ...classes.map((c) => make("th", { scope: "col" }, `taken for ${c.brief}`)));
    const grid = make("table", {}, make("thead", {}, head), make("tbody", {}, ...counts.map((line, i) =>
      make("tr", {}, make("th", { scope: "row" }, classes[i].brief), ...line.map((v) => make("td", {}, String(v)))))));
    body.replaceChildren(make("dl", { class: "keys" }, ...said.map(([k, v]) => make("div", {}, make("dt", {}, k), make("dd", {}, v)))), grid);
  };
  const restart = () => {
    const order = sorted();
    slider.value = method.probability ? 500 : Math.round((1000 * order.filter((v) => v <= method.start).length) / order.length);
    show();
  };
  slider.addEventListener("input", show);
  holder.append(make("h3", {}, "Where to cut"),
    make("p", { class: "fine" }, `Rows above the threshold are taken for ${classes[1].name}: precision and recall are of this class.`),
    make("div", { class: "tools" }, choice("Method that is cut", [...byName.keys()], method.name, (name) => { method = byName.get(name); restart(); }), slider), body);
  restart();
}

// What if the values of a pasted row were others.

function offerWhatIf(row) {
  const holder = byId("what-if");
  if (!holder) return;
  const map = facts.readouts.methods.find((each) => each.class_weights.length) || facts.readouts.methods[0];
  const { features, low, high } = facts.values;
  const place = new Map(facts.readouts.features.map((name, j) => [name, j]));
  const parts = features.map((name, k) => ({ name, j: place.get(name), low: low[k], high: high[k] }))
    .filter((part) => part.j !== undefined && part.low !== null && part.high > part.low);
  const reach = ({ j, low: a, high: b }) => {
    const weights = (map.class_weights.length ? map.class_weights : map.weights).map((w) => w[j]);
    return (Math.max(...weights, 0) - Math.min(...weights, 0)) * (b - a);
  };
  parts.sort((p, q) => reach(q) - reach(p));
  const now = [...row];
  const sliders = parts.slice(0, 5).map(({ name, j, low: a, high: b }) => {
    const shown = make("b", {}, short(now[j]));
    const input = make("input", { type: "range", min: Math.min(a, row[j]), max: Math.max(b, row[j]), step: (b - a) / 200, value: row[j], "aria-label": name });
    input.addEventListener("input", () => {
      now[j] = Number(input.value);
      shown.textContent = short(now[j]);
      byId("row-said").replaceChildren(...facts.readouts.methods.map((each) => judgeRow(each, now)));
      paintPanels();
    });
    return make("label", { class: "slide" }, make("span", {}, name), input, shown);
  });
  holder.replaceChildren(...(sliders.length ? [make("h3", {}, "What if"), ...sliders] : []));
}

// Features as a table that can be sorted and saved.

function startFeatureTable() {
  const holder = byId("feature-table");
  const select = document.querySelector("#weights select");
  if (!holder || !select) return;
  const head = ["feature", "direction", "weight", "low", "high", "pattern", "splits"];
  const show = () => {
    const table = facts.loadings.tables.find((each) => each.name === select.value);
    const lines = table.directions.flatMap(({ features, splits, stable }, k) => features.map((f) =>
      [f.feature, k + 1, f.weight, f.low, f.high, f.pattern, Math.round(f.share * splits)]));
    const written = (v, j) => (typeof v !== "number" ? (v === null ? "\u2013" : v) : j === 1 || j === 6 ? String(v) : short(v));
    const grid = make("table", {}, make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, ...lines.map((line) => make("tr", {}, ...line.map((v, j) =>
        make(j ? "td" : "th", { scope: j ? null : "row", "data-value": v === null ? null : String(v) }, written(v, j)))))));
    makeSortable(grid, head.map((_, j) => j));
    const save = make("button", { type: "button", id: "features-csv", onclick: () => saveFile("features.csv", "text/csv", writeCsv([head, ...lines])) }, "Save as CSV");
    holder.replaceChildren(make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Features" }, grid), save);
  };
  select.addEventListener("change", show);
  show();
}

// The first picture as a file.

function savePicture(kind) {
  const panel = panels[0];
  if (!panel) return;
  const size = 8;
  const points = panel.order.map((i) => {
    const { colour, shape } = classes[labelOf(panel.view, i)];
    const wrong = isWrong(panel.view, i);
    return draw("path", { d: shapes[shape], transform: `translate(${panel.x[i].toFixed(1)} ${panel.y[i].toFixed(1)}) scale(${size})`,
      fill: colours[`c${colour}`], stroke: wrong ? colours.ink : colours.paper, "stroke-width": (wrong ? 2.2 : 0.8) / size });
  });
  const words = (x, y, text, more = {}) => draw("text", { x, y, "text-anchor": "middle", fill: colours.soft, "font-size": 12, "font-family": "sans-serif", ...more }, text);
  const [first, second] = panel.view.axes;
  const legend = classes.slice(0, 12).flatMap((entry, k) => [
    draw("path", { d: shapes[entry.shape], transform: `translate(${panel.width + 14} ${20 + 18 * k}) scale(9)`, fill: colours[`c${entry.colour}`] }),
    words(panel.width + 26, 24 + 18 * k, entry.brief, { "text-anchor": "start" })]);
  const svg = draw("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${panel.width + 150} ${panel.height}`, width: panel.width + 150, height: panel.height },
    draw("title", {}, byId("caption").textContent),
    draw("rect", { width: "100%", height: "100%", fill: colours.paper }), ...points,
    words(panel.width / 2, panel.height - 7, `${first} \u2192`), words(14, panel.height / 2, second ? `${second} \u2192` : "classes", { transform: `rotate(-90 14 ${panel.height / 2})` }), ...legend);
  const text = new XMLSerializer().serializeToString(svg);
  if (kind === "svg") saveFile("projection.svg", "image/svg+xml", text);
  else savePixels(text, panel.width + 150, panel.height);
}

// the same picture in pixels, three for one: sharp on a slide
function savePixels(text, width, height) {
  const image = new Image(3 * width, 3 * height);
  const source = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  image.onload = () => {
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [3 * width, 3 * height];
    copy.getContext("2d").drawImage(image, 0, 0, copy.width, copy.height);
    URL.revokeObjectURL(source);
    copy.toBlob((blob) => saveFile("projection.png", "image/png", blob));
  };
  image.src = source;
}

// On a narrow screen the later parts are opened by their headings.

const LATER = ["curves", "dimension", "time", "failures", "reproduce"];
function foldLater() {
  if (innerWidth > 600) return;
  for (const section of LATER.map(byId)) {
    const title = section.querySelector("h2");
    const button = make("button", { type: "button", class: "unfold", "aria-expanded": "false" }, ...title.childNodes);
    section.classList.add("folded");
    button.addEventListener("click", () => {
      const folded = section.classList.toggle("folded");
      button.setAttribute("aria-expanded", !folded);
      paintAll();
    });
    title.append(button);
  }
}

function startChoices() {
  foldLater();
  startLeaderboard();
  startDisagreement();
  startThreshold();
  startFeatureTable();
  if (!panels.length) return;
  byId("save-png").addEventListener("click", () => savePicture("png"));
  byId("save-svg").addEventListener("click", () => savePicture("svg"));
}
