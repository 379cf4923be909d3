// Charts with axes, drawn to the width they have.

function frame(holder, height, label) {
  const width = Math.max(holder.clientWidth, 260);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": label });
  holder.replaceChildren(svg);
  return { svg, width };
}

function accuracyTicks(low, high) {
  const step = [0.01, 0.02, 0.05, 0.1, 0.2].find((size) => (high - low) / size <= 6) || 0.25;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9; k++) ticks.push(k * step);
  return ticks;
}

function accuracyAxis(svg, values, left, right, top, bottom) {
  const least = Math.min(...values), most = Math.max(...values);
  const low = Math.max(0, Math.floor(50 * least - 0.25) / 50), high = Math.min(1, Math.ceil(50 * most + 0.25) / 50);
  const y = (value) => bottom - ((value - low) / (high - low || 1)) * (bottom - top);
  for (const tick of accuracyTicks(low, high)) {
    svg.append(
      draw("line", { x1: left, x2: right, y1: y(tick), y2: y(tick), stroke: colours.line }),
      draw("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, `${Math.round(100 * tick)} %`));
  }
  return y;
}

// methods that are highlighted in the chart of dimensions, each with a colour of its own
const highlighted = new Map();
function highlight(name) {
  const taken = new Set(highlighted.values());
  const free = [0, 1, 2, 3, 4, 5, 6, 7].find((c) => !taken.has(c));
  highlighted.set(name, free === undefined ? highlighted.size % 8 : free);
}

function startDimension() {
  const holder = byId("dimension-chart");
  if (!holder) return;
  const { lines } = facts.dimension;
  lines.slice(0, 3).forEach((line) => highlight(line.name));
  const pca = facts.leaderboard.rows.find((row) => row.role === "PCA");
  if (pca && lines.some((line) => line.name === pca.name) && !highlighted.has(pca.name)) highlight(pca.name);
  const paint = () => paintDimension(holder, lines);
  const chips = lines.map(({ name }) => {
    const button = make("button", { type: "button", "aria-pressed": highlighted.has(name) }, make("i"), name);
    button.dataset.name = name;
    toggle(button, (on) => {
      if (on) highlight(name);
      else highlighted.delete(name);
      paint();
    });
    return button;
  });
  byId("dimension-chips").append(...chips);
  repaint.push(paint);
}

function paintDimension(holder, lines) {
  for (const chip of byId("dimension-chips").children) {
    const colour = highlighted.get(chip.dataset.name);
    chip.firstChild.style.background = colour === undefined ? "" : `var(--c${colour})`;
  }
  const height = 330;
  const label = `Accuracy by number of directions, of ${lines.length} methods; the numbers are in the table below.`;
  const { svg, width } = frame(holder, height, label);
  const narrow = width < 560;
  const [left, right, top, bottom] = [52, width - (narrow ? 10 : 190), 14, height - 42];
  const raw = facts.leaderboard.rows.find((row) => row.role === "raw");
  const values = lines.flatMap((line) => line.accuracy).filter((v) => v !== null);
  if (raw) values.push(raw.accuracy);
  const y = accuracyAxis(svg, values, left, right, top, bottom);
  const longest = facts.dimension.longest;
  const x = (d) => left + (Math.log(d) / Math.log(longest)) * (right - left);
  for (const d of [1, 2, 3, 5, 10, 20, 40].filter((d) => d <= longest)) {
    svg.append(draw("text", { x: x(d), y: bottom + 19, "text-anchor": "middle" }, String(d)));
  }
  svg.append(draw("text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle" }, "directions kept"));
  if (raw) {
    svg.append(draw("line", { x1: left, x2: right, y1: y(raw.accuracy), y2: y(raw.accuracy), stroke: colours.soft, "stroke-dasharray": "6 5" }));
  }
  const ends = raw ? [{ at: y(raw.accuracy), name: `${raw.label} ${percent(raw.accuracy)}`, colour: colours.soft }] : [];
  const inOrder = [...lines].sort((a, b) => highlighted.has(a.name) - highlighted.has(b.name));
  for (const line of inOrder) {
    const code = highlighted.get(line.name);
    const strong = code !== undefined;
    const stroke = strong ? colours[`c${code}`] : colours.soft;
    const dim = strong ? null : "faint";
    const points = line.accuracy.map((v, i) => [x(i + 1), v === null ? null : y(v), i + 1, v]).filter((p) => p[1] !== null);
    if (!points.length) continue;
    svg.append(draw("polyline", {
      points: points.map((p) => `${p[0].toFixed(1)},${p[1].toFixed(1)}`).join(" "),
      class: dim, fill: "none", stroke, "stroke-width": strong ? 2.5 : 1.2, "stroke-linejoin": "round",
    }));
    for (const [px, py, d, v] of points) {
      const ring = d === line.chosen;
      if (!ring && points.length > 1 && (!strong || points.length > 15)) continue;
      svg.append(draw("circle", {
        class: dim, cx: px, cy: py, r: ring && strong ? 6 : 2.6,
        fill: ring ? colours.paper : stroke, stroke, "stroke-width": ring && strong ? 2.5 : 1.2,
        onpointerenter: (e) => showTip([line.name, `${d} direction${d === 1 ? "" : "s"}: ${percent(v)}`], e.clientX, e.clientY),
        onpointerleave: hideTip,
      }));
    }
    if (strong) ends.push({ at: points.at(-1)[1], name: line.name, colour: stroke });
  }
  if (!narrow) labelEnds(svg, ends, right + 8, top, bottom);
}

// names at the ends of lines, moved apart where they would overlap
function labelEnds(svg, ends, x, top, bottom) {
  const gap = 16;
  ends.sort((a, b) => a.at - b.at);
  let last = top - gap;
  for (const end of ends) { end.to = Math.max(end.at, last + gap); last = end.to; }
  let next = bottom + gap;
  for (const end of [...ends].reverse()) { end.to = Math.min(end.to, next - gap); next = end.to; }
  for (const { to, name, colour } of ends) {
    const shortened = name.length > 26 ? `${name.slice(0, 25)}…` : name;
    svg.append(
      draw("rect", { x, y: to - 4, width: 8, height: 8, rx: 2, fill: colour }),
      draw("text", { x: x + 13, y: to + 4 }, shortened));
  }
}

function startTime() {
  const holder = byId("time-chart");
  if (holder) repaint.push(() => paintTime(holder, facts.time.points));
}

function timeWords(seconds) {
  if (seconds < 1) return `${+(1000 * seconds).toPrecision(2)} ms`;
  return seconds < 60 ? `${+seconds.toPrecision(2)} s` : `${+(seconds / 60).toPrecision(2)} min`;
}

function paintTime(holder, points) {
  const height = 360;
  const { svg, width } = frame(holder, height, "Training time against accuracy; both are in the table of all methods.");
  const [left, right, top, bottom] = [52, width - 16, 18, height - 42];
  const y = accuracyAxis(svg, points.map((p) => p.accuracy), left, right, top, bottom);
  const times = points.map((p) => Math.log10(p.seconds));
  const low = Math.min(...times) - 0.15, high = Math.max(...times) + 0.15;
  const x = (seconds) => left + ((Math.log10(seconds) - low) / (high - low)) * (right - left);
  const every = high - low > 8 && width < 560 ? 2 : 1;
  for (let k = Math.ceil(low); k <= high; k += every) {
    svg.append(
      draw("line", { x1: x(10 ** k), x2: x(10 ** k), y1: top, y2: bottom, stroke: colours.line }),
      draw("text", { x: x(10 ** k), y: bottom + 19, "text-anchor": "middle" }, timeWords(10 ** k)));
  }
  svg.append(draw("text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle" }, "training time (each line ten times the one before)"));
  const taken = points.map((p) => [x(p.seconds) - 7, y(p.accuracy) - 7, 14, 14]);
  const overlaps = (a) => taken.some((b) => a[0] < b[0] + b[2] && b[0] < a[0] + a[2] && a[1] < b[1] + b[3] && b[1] < a[1] + a[3]);
  const wanted = [...points].sort((a, b) => b.unbeaten - a.unbeaten);
  for (const point of wanted) {
    const [px, py] = [x(point.seconds), y(point.accuracy)];
    svg.append(draw("circle", {
      cx: px, cy: py, r: 6, fill: point.unbeaten ? colours.accent : colours.paper,
      stroke: point.unbeaten ? colours.accent : colours.soft, "stroke-width": 1.8,
      onpointerenter: (e) => showTip([point.name, `${percent(point.accuracy)} in ${timeWords(point.seconds)}`], e.clientX, e.clientY),
      onpointerleave: hideTip,
    }));
    const name = point.name.length > 30 ? `${point.name.slice(0, 29)}…` : point.name;
    const w = (point.unbeaten ? 7.6 : 7.1) * name.length + 4;
    const spots = [
      [px + 10, py - 8, "start", px + 11],
      [px - 10 - w, py - 8, "end", px - 11],
      [px - w / 2, py - 26, "middle", px],
      [px - w / 2, py + 9, "middle", px],
    ];
    const fits = ([a, b]) => a >= left && a + w <= width && b > 0 && b < bottom - 8 && !overlaps([a, b, w, 16]);
    const spot = spots.find(fits);
    if (!spot) continue;
    const [a, b, anchor, at] = spot;
    taken.push([a, b, w, 16]);
    svg.append(draw("text", { x: at, y: b + 12, "text-anchor": anchor, class: point.unbeaten ? "strong" : null }, name));
  }
}

// Curves: rows that are found against rows that are taken for them, and probabilities against truth.

function startCurves() {
  const { lines, shown: first } = facts.curves;
  if (!lines.length) return;
  const picked = new Map();
  const pick = (name) => {
    const taken = new Set(picked.values());
    const free = [0, 1, 2, 3, 4, 5, 6, 7].find((c) => !taken.has(c));
    picked.set(name, free === undefined ? picked.size % 8 : free);
  };
  first.forEach(pick);
  const paint = () => paintCurves(lines, picked);
  byId("curve-chips").append(...lines.map(({ name }) => {
    const button = make("button", { type: "button", "aria-pressed": picked.has(name) }, make("i"), name);
    button.dataset.name = name;
    toggle(button, (on) => {
      if (on) pick(name);
      else picked.delete(name);
      paint();
    });
    return button;
  }));
  repaint.push(paint);
}

function paintCurves(lines, picked) {
  for (const chip of byId("curve-chips").children) {
    const colour = picked.get(chip.dataset.name);
    chip.firstChild.style.background = colour === undefined ? "" : `var(--c${colour})`;
  }
  const chosen = lines.filter((line) => picked.has(line.name));
  const colour = (line) => colours[`c${picked.get(line.name)}`];
  const roc = square("roc-chart", "other rows taken for it", "rows of a class that are found", `Rows found against rows taken for them, by ${chosen.length} methods.`);
  for (const line of chosen.filter((each) => each.roc)) {
    const points = line.roc.map((v, k) => [facts.curves.false_shares[k], v]);
    roc.curve([[0, 0], ...points], colour(line), `${line.name}: area ${line.area.toFixed(3)}`);
  }
  const sure = square("calibration-chart", "probability of the class that is named", "share that is right", `Probabilities against the share that is right, by ${chosen.length} methods.`);
  for (const line of chosen.filter((each) => each.calibration)) {
    const many = line.calibration.filter(([n]) => n >= 10);
    sure.curve(many.map(([, p, right]) => [p, right]), colour(line), `${line.name}: off by ${percent(line.off)}`);
    for (const [n, p, right] of line.calibration) {
      sure.dot(p, right, colour(line), 2.5 + 5 * Math.sqrt(n / Math.max(...line.calibration.map(([m]) => m))),
        [line.name, `${n} rows with about ${percent(p)}: ${percent(right)} right`]);
    }
  }
  byId("curve-table").replaceChildren(...lines.map((line) => make("tr", {}, make("th", { scope: "row" }, line.name),
    make("td", {}, line.area === null ? "\u2013" : line.area.toFixed(3)), make("td", {}, line.off === null ? "\u2013" : percent(line.off)))));
}

// a chart of shares against shares
function square(id, across, up, label) {
  const holder = byId(id);
  const height = Math.min(Math.max(holder.clientWidth, 260), 380);
  const { svg, width } = frame(holder, height, label);
  const [left, right, top, bottom] = [46, width - 10, 26, height - 40];
  const x = (v) => left + v * (right - left), y = (v) => bottom - v * (bottom - top);
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    svg.append(
      draw("line", { x1: left, x2: right, y1: y(tick), y2: y(tick), stroke: colours.line }),
      draw("text", { x: left - 7, y: y(tick) + 4, "text-anchor": "end" }, `${100 * tick} %`),
      draw("text", { x: x(tick), y: bottom + 17, "text-anchor": tick === 1 ? "end" : "middle" }, `${100 * tick} %`));
  }
  svg.append(
    draw("line", { x1: x(0), x2: x(1), y1: y(0), y2: y(1), stroke: colours.soft, "stroke-dasharray": "5 5" }),
    draw("text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle" }, across));
  svg.append(draw("text", { x: 0, y: 12 }, up));
  return {
    curve(points, stroke, name) {
      svg.append(draw("polyline", {
        points: points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" "),
        fill: "none", stroke, "stroke-width": 2.5, "stroke-linejoin": "round",
        onpointermove: (e) => showTip([name], e.clientX, e.clientY), onpointerleave: hideTip,
      }));
    },
    dot(a, b, fill, r, text) {
      svg.append(draw("circle", { cx: x(a), cy: y(b), r, fill, onpointerenter: (e) => showTip(text, e.clientX, e.clientY), onpointerleave: hideTip }));
    },
  };
}
