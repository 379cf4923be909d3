// Features that have a place: a map of channels and times or pixels, or a spectrum.

function startMap() {
  const holder = byId("map");
  if (!holder) return;
  const { kind, directions } = facts.map;
  const paints = kind === "map" ? directions.map((values, k) => heatMap(holder, values, k)) : [spectrum(holder)];
  repaint.push(() => paints.forEach((paint) => paint()));
}

const channelsOf = (colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));

// one direction: blue where a value rises along it, orange where it falls
function heatMap(holder, values, k) {
  const { rows: down, columns: across } = facts.map;
  const canvas = make("canvas", { role: "img", "aria-label": `Patterns of direction ${k + 1}, ${down.length} by ${across.length}; the table of features has the largest.` });
  const least = make("span", {}, across[0]), most = make("span", {}, across[across.length - 1]);
  holder.append(make("div", { class: "heat" }, make("h3", {}, `Direction ${k + 1}`),
    make("div", { class: "sides" }, make("small", {}, make("span", {}, down[0]), make("span", {}, down[down.length - 1])), canvas),
    make("small", { class: "ends" }, least, most)));
  const strongest = values.reduce((a, v) => Math.max(a, Math.abs(v)), 1e-9);
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const i = clamp(Math.floor(((event.clientY - box.top) / box.height) * down.length), 0, down.length - 1);
    const j = clamp(Math.floor(((event.clientX - box.left) / box.width) * across.length), 0, across.length - 1);
    showTip([`${down[i]}, ${across[j]}`, `pattern ${values[i * across.length + j].toFixed(2)}`], event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", hideTip);
  return () => {
    [canvas.width, canvas.height] = [across.length, down.length];
    const brush = canvas.getContext("2d");
    const image = brush.createImageData(across.length, down.length);
    const [paper, up, low] = ["paper", "c0", "c1"].map((name) => channelsOf(colours[name]));
    values.forEach((v, p) => {
      const share = Math.min(1, Math.abs(v) / strongest), end = v > 0 ? up : low;
      paper.forEach((ground, c) => { image.data[4 * p + c] = ground + share * (end[c] - ground); });
      image.data[4 * p + 3] = 255;
    });
    brush.putImageData(image, 0, 0);
  };
}

// means of the classes above, patterns of the directions below
function spectrum(holder) {
  const { columns, directions, means } = facts.map;
  const chart = make("div", { class: "chart wide" });
  const marks = ["\u2501\u2501", "\u254d\u254d", "\u00b7\u00b7\u00b7"];
  holder.append(chart, make("p", { class: "fine" }, directions.map((_, k) => `${marks[k]} direction ${k + 1}`).join("   ")));
  return () => {
    const height = 340, middle = 160;
    const { svg, width } = frame(chart, height, `Means of ${means.length} classes, and patterns of ${directions.length} directions, at ${columns.length} places.`);
    const [left, right] = [40, width - 8];
    const x = (j) => left + (j / (columns.length - 1)) * (right - left);
    const line = (values, y, stroke, more = {}) => draw("polyline", { points: values.map((v, j) => `${x(j).toFixed(1)},${y(v).toFixed(1)}`).join(" "), fill: "none", stroke, "stroke-width": 1.8, ...more });
    const all = means.flat(), low = Math.min(...all), high = Math.max(...all);
    const top = (v) => middle - 14 - ((v - low) / (high - low || 1)) * (middle - 26);
    means.forEach((values, c) => svg.append(line(values, top, colours[`c${classes[c].colour}`])));
    const below = (v) => middle + 80 - 70 * v;
    for (const level of [-1, 0, 1]) {
      svg.append(draw("line", { x1: left, x2: right, y1: below(level), y2: below(level), stroke: colours.line }),
        draw("text", { x: left - 6, y: below(level) + 4, "text-anchor": "end" }, String(level).replace("-", "\u2212")));
    }
    directions.forEach((values, k) => svg.append(line(values, below, colours.ink, { "stroke-dasharray": ["", "6 3", "2 3"][k], "stroke-width": 1.6 })));
    for (const k of [0, 0.25, 0.5, 0.75, 1]) {
      const j = Math.round(k * (columns.length - 1));
      svg.append(draw("text", { x: x(j), y: middle + 176, "text-anchor": k === 1 ? "end" : "middle" }, columns[j]));
    }
    svg.addEventListener("pointermove", (event) => {
      const j = clamp(Math.round(((event.offsetX - left) / (right - left)) * (columns.length - 1)), 0, columns.length - 1);
      showTip([columns[j], ...directions.map((values, k) => `direction ${k + 1}: pattern ${values[j].toFixed(2)}`)], event.clientX, event.clientY);
    });
    svg.addEventListener("pointerleave", hideTip);
  };
}
