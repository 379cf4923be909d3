// Shapes of points, in a box of size 1 about the origin.

const shapes = [
  "M-.46 0a.46 .46 0 1 0 .92 0a.46 .46 0 1 0 -.92 0z",
  "M-.4-.4H.4V.4H-.4z",
  "M0-.52L.5 .4H-.5z",
  "M0-.56L.5 0L0 .56L-.5 0z",
  "M0 .52L.5-.4H-.5z",
];

const sprites = new Map();
function sprite(colour, shape, wrong, size) {
  const key = `${colour} ${shape} ${wrong} ${size} ${devicePixelRatio} ${colours.ink}`;
  if (!sprites.has(key)) {
    const canvas = document.createElement("canvas");
    const side = size + 6;
    canvas.width = canvas.height = Math.ceil(side * devicePixelRatio);
    const brush = canvas.getContext("2d");
    brush.scale(devicePixelRatio, devicePixelRatio);
    brush.translate(side / 2, side / 2);
    brush.scale(size, size);
    const outline = new Path2D(shapes[shape]);
    brush.fillStyle = colour;
    brush.globalAlpha = wrong ? 1 : 0.8;
    brush.fill(outline);
    brush.globalAlpha = 1;
    brush.lineWidth = (wrong ? 2.2 : 0.8) / size;
    brush.strokeStyle = wrong ? colours.ink : colours.paper;
    brush.stroke(outline);
    sprites.set(key, { canvas, side });
  }
  return sprites.get(key);
}

// Projections: panels that show the same held-out rows by several methods.

const rows = facts.projections;
const views = new Map(rows.views.map((view) => [view.name, view]));
const shown = { hidden: new Set(), wrong: false, three: false, hot: -1, kept: false, marked: null };
const panels = [];

// every axis from -1 to 1; what cannot be drawn is NaN
function unitAxes(view) {
  return view.coordinates.map((column) => {
    const unit = unitScale(column);
    return Float64Array.from(column, (v) => (v === null ? NaN : unit(v)));
  });
}

function unitScale(column) {
  const known = column.filter((value) => value !== null);
  const low = known.reduce((a, b) => Math.min(a, b), Infinity);
  const high = known.reduce((a, b) => Math.max(a, b), -Infinity);
  const half = (high - low) / 2 || 1;
  return (v) => (v - low) / half - (high > low ? 1 : 0);
}

// shuffled labels have a view of their own
const labelOf = (view, i) => (view.labels || rows.labels)[i];
const isWrong = (view, i) => view.predicted[i] !== labelOf(view, i);
const rowName = (i) => (rows.ids ? `${rows.ids[i]} (row ${rows.rows[i]})` : `row ${rows.rows[i]}`);
const tried = new Map(); // where the row that was pasted falls, by method

// along one direction rows lie in a lane for each class, scattered so that they can be distinguished
function lane(view, i) {
  const n = classes.length;
  const scatter = ((i * 0.6180339887) % 1) - 0.5;
  return (2 * (labelOf(view, i) + 0.5)) / n - 1 + (1.3 * scatter) / n;
}

class Panel {
  constructor(name, place) {
    this.canvas = make("canvas", {
      tabindex: 0,
      role: "application",
      "aria-roledescription": "scatter plot",
    });
    this.note = make("p", {});
    const pick = choice(`Method of picture ${place + 1}`, [...views.keys()], name, (chosen) => this.show(chosen));
    const head = make("div", { class: "panel-head" }, pick,
      make("button", { type: "button", "aria-label": "Zoom in", onclick: () => this.zoom(1.4) }, "+"),
      make("button", { type: "button", "aria-label": "Zoom out", onclick: () => this.zoom(1 / 1.4) }, "−"));
    this.node = make("div", { class: "panel" }, head, this.canvas, this.note);
    this.fingers = new Map();
    this.layer = document.createElement("canvas"); // all but the row that is pointed at
    this.listen();
    this.take(name);
  }

  take(name) {
    this.view = views.get(name);
    this.places = unitAxes(this.view);
    this.reset();
  }

  show(name) {
    this.take(name);
    this.paint();
  }

  reset() {
    this.scale = 1;
    this.dx = this.dy = 0;
    this.yaw = 0.6;
    this.pitch = 0.35;
  }

  get solid() { return shown.three && this.places.length > 2; }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const next = clamp(this.scale * factor, 0.5, 200);
    const change = next / this.scale;
    this.dx = x - this.width / 2 - (x - this.width / 2 - this.dx) * change;
    this.dy = y - this.height / 2 - (y - this.height / 2 - this.dy) * change;
    this.scale = next;
    this.paint();
  }

  move(x, y) {
    if (this.solid) {
      this.yaw += x / 120;
      this.pitch = clamp(this.pitch + y / 120, -1.57, 1.57);
    } else {
      this.dx += x;
      this.dy += y;
    }
    this.paint();
  }

  // where a place of three coordinates is on the canvas
  project(x, y, z) {
    let u = x, v = y, depth = 0;
    if (this.solid) {
      const [cosine, sine] = [Math.cos(this.yaw), Math.sin(this.yaw)];
      const [cosine2, sine2] = [Math.cos(this.pitch), Math.sin(this.pitch)];
      const back = -x * sine + z * cosine;
      u = 0.66 * (x * cosine + z * sine);
      v = 0.66 * (y * cosine2 - back * sine2);
      depth = y * sine2 + back * cosine2;
    }
    const [w, h] = [this.width / 2, this.height / 2];
    const [across, up] = this.solid ? [Math.min(w, h), Math.min(w, h)] : [w - 26, h - 26];
    return [w + u * across * this.scale + this.dx, h - v * up * this.scale + this.dy, depth];
  }

  paint() {
    const box = this.canvas.getBoundingClientRect();
    this.width = box.width || 320;
    this.height = box.height || 320;
    const ratio = devicePixelRatio;
    for (const canvas of [this.canvas, this.layer]) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(this.height * ratio);
      canvas.getContext("2d").scale(ratio, ratio);
    }
    const brush = this.layer.getContext("2d");
    this.paintFrame(brush);
    this.place();
    for (const i of this.order) this.paintRow(brush, i);
    this.paintTop();
  }

  paintTop() {
    const brush = this.canvas.getContext("2d");
    brush.clearRect(0, 0, this.width, this.height);
    brush.drawImage(this.layer, 0, 0, this.width, this.height);
    this.paintHot(brush);
    this.paintTried(brush);
    if (this.box) {
      brush.strokeStyle = colours.accent;
      brush.lineWidth = 1.5;
      brush.strokeRect(this.box[0], this.box[1], this.box[2] - this.box[0], this.box[3] - this.box[1]);
    }
    this.describe();
  }

  // rows in the box that was drawn stay bright in every picture
  mark() {
    const [x0, y0, x1, y1] = this.box;
    this.box = null;
    const inside = (i) => (this.x[i] - x0) * (this.x[i] - x1) <= 0 && (this.y[i] - y0) * (this.y[i] - y1) <= 0;
    const found = this.order.filter(inside);
    shown.marked = found.length ? new Set(found) : null;
    tellSelection();
    paintPanels();
  }

  paintFrame(brush) {
    brush.strokeStyle = colours.line;
    brush.fillStyle = colours.soft;
    brush.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const [first, second] = this.view.axes;
    if (this.solid) {
      const ends = [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]];
      const [ox, oy] = this.project(-1, -1, -1);
      ends.forEach((end, j) => {
        const [x, y] = this.project(...end);
        brush.beginPath();
        brush.moveTo(ox, oy);
        brush.lineTo(x, y);
        brush.stroke();
        brush.fillText(String(j + 1), x + 3, y - 3);
      });
      return;
    }
    brush.textAlign = "center";
    brush.fillText(`${first} →`, this.width / 2, this.height - 7);
    brush.save();
    brush.translate(14, this.height / 2);
    brush.rotate(-Math.PI / 2);
    brush.fillText(second ? `${second} →` : "classes", 0, 0);
    brush.restore();
  }

  // places of all rows, and the order to draw visible ones in: mistakes last, far ones first
  place() {
    const n = rows.labels.length;
    const [a, b, c] = this.places;
    this.x = new Float64Array(n);
    this.y = new Float64Array(n);
    const key = new Float64Array(n);
    this.order = [];
    for (let i = 0; i < n; i++) {
      const wrong = isWrong(this.view, i);
      const [x, y, depth] = this.project(a[i], b ? b[i] : lane(this.view, i), c ? c[i] : 0);
      [this.x[i], this.y[i]] = [x, y];
      key[i] = this.solid ? -depth : wrong;
      const hide = shown.hidden.has(labelOf(this.view, i)) || (shown.wrong && !wrong);
      if (!hide && Number.isFinite(x + y)) this.order.push(i);
    }
    this.order.sort((i, j) => key[i] - key[j]);
  }

  paintRow(brush, i) {
    const size = rows.labels.length > 1500 ? 6 : rows.labels.length > 300 ? 8 : 10;
    const { colour, shape } = classes[labelOf(this.view, i)];
    brush.globalAlpha = shown.marked && !shown.marked.has(i) && i !== shown.hot ? 0.12 : 1;
    const { canvas, side } = sprite(colours[`c${colour}`], shape, isWrong(this.view, i), size);
    // on whole pixels, where points are sharp
    const [left, top] = [this.x[i], this.y[i]].map((v) => Math.round((v - side / 2) * devicePixelRatio) / devicePixelRatio);
    brush.drawImage(canvas, left, top, canvas.width / devicePixelRatio, canvas.height / devicePixelRatio);
    brush.globalAlpha = 1;
  }

  paintHot(brush) {
    const i = shown.hot;
    if (i < 0 || !Number.isFinite(this.x[i] + this.y[i])) return;
    this.paintRow(brush, i);
    for (const [colour, width] of [[colours.paper, 5], [colours.ink, 2.5]]) {
      brush.beginPath();
      brush.arc(this.x[i], this.y[i], 10, 0, 2 * Math.PI);
      brush.strokeStyle = colour;
      brush.lineWidth = width;
      brush.stroke();
    }
  }

  // the row that was pasted: a star, at the edge with an arrow where it lies outside
  paintTried(brush) {
    const found = tried.get(this.view.name);
    if (!found || !found.place.length) return;
    const units = this.view.coordinates.map(unitScale);
    const [a, b, c] = found.place.map((v, j) => units[j](v));
    let [x, y] = this.project(a, b === undefined ? 0 : b, c === undefined ? 0 : c);
    if (!Number.isFinite(x + y)) return;
    const inside = x >= 12 && x <= this.width - 12 && y >= 12 && y <= this.height - 12;
    x = clamp(x, 12, this.width - 12);
    y = clamp(y, 12, this.height - 12);
    brush.save();
    brush.translate(x, y);
    brush.beginPath();
    for (let k = 0; k < 10; k++) {
      const [reach, angle] = [k % 2 ? 5 : 12, (k * Math.PI) / 5 - Math.PI / 2];
      brush.lineTo(reach * Math.cos(angle), reach * Math.sin(angle));
    }
    brush.closePath();
    brush.fillStyle = found.code === null ? colours.paper : colours[`c${classes[found.code].colour}`];
    brush.strokeStyle = colours.ink;
    brush.lineWidth = 2;
    brush.globalAlpha = inside ? 1 : 0.6;
    brush.fill();
    brush.stroke();
    brush.restore();
  }

  describe() {
    const { name, words, about } = this.view;
    const seen = shown.hidden.size && shown.hidden.size < classes.length;
    const kept = rows.labels.map((_, i) => i).filter((i) => !shown.hidden.has(labelOf(this.view, i)));
    const right = kept.filter((i) => !isWrong(this.view, i)).length;
    const said = seen ? `${right} of ${kept.length} correct in the classes that are shown` : words;
    const parts = [make("b", {}, said), about ? `, ${about}` : ""];
    if (shown.marked) {
      const right = [...shown.marked].filter((i) => !isWrong(this.view, i)).length;
      parts.push(make("br"), `${right} of ${shown.marked.size} marked rows correct`);
    }
    if (shown.hot >= 0) {
      const row = rowName(shown.hot);
      parts.push(make("br"), `${row[0].toUpperCase()}${row.slice(1)} is taken for `,
        make("b", {}, classes[this.view.predicted[shown.hot]].name),
        isWrong(this.view, shown.hot) ? " (wrong)" : " (right)");
    }
    this.note.replaceChildren(...parts);
    this.canvas.setAttribute("aria-label",
      `${this.order.length} held-out rows by ${name}: ${words}. Full stop and comma go from point to point.`);
  }

  nearest(x, y, reach) {
    let best = -1, least = reach * reach;
    for (const i of this.order) {
      const distance = (this.x[i] - x) ** 2 + (this.y[i] - y) ** 2;
      if (distance <= least) [best, least] = [i, distance];
    }
    return best;
  }

  point(i, keep) {
    setHot(i, keep);
    if (i < 0) return hideTip();
    const box = this.canvas.getBoundingClientRect();
    showTip(tellRow(this.view, i), box.left + this.x[i], box.top + this.y[i]);
  }

  step(by) {
    if (!this.order.length) return;
    const along = [...this.order].sort((i, j) => i - j);
    const now = along.indexOf(shown.hot);
    const next = now < 0 ? 0 : (now + by + along.length) % along.length;
    this.point(along[next], true);
    byId("live").textContent = tellRow(this.view, along[next]).join(", ");
  }

  listen() {
    const canvas = this.canvas;
    canvas.addEventListener("pointerdown", (event) => {
      const here = [event.offsetX, event.offsetY];
      this.fingers.set(event.pointerId, here);
      this.moved = 0;
      if (event.shiftKey) this.box = [...here, ...here];
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => this.pointerMoved(event));
    canvas.addEventListener("pointerup", (event) => {
      this.fingers.delete(event.pointerId);
      if (this.box) this.mark();
      else if (this.moved < 5) {
        const reach = event.pointerType === "touch" ? 24 : 12;
        const hit = this.nearest(event.offsetX, event.offsetY, reach);
        this.point(hit, hit >= 0);
      }
    });
    canvas.addEventListener("pointercancel", (event) => this.fingers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => {
      hideTip();
      if (!shown.kept) setHot(-1, false);
    });
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.keyPressed(event));
    canvas.addEventListener("blur", hideTip);
  }

  pointerMoved(event) {
    const here = [event.offsetX, event.offsetY];
    const before = this.fingers.get(event.pointerId);
    if (!before) {
      if (shown.kept) return;
      this.point(this.nearest(...here, 12), false);
      return;
    }
    if (this.box) {
      [this.box[2], this.box[3]] = here;
      this.paintTop();
      return;
    }
    const [x, y] = [here[0] - before[0], here[1] - before[1]];
    this.moved += Math.abs(x) + Math.abs(y);
    const others = [...this.fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    this.fingers.set(event.pointerId, here);
    if (others.length) {
      const far = (at) => Math.hypot(at[0] - others[0][0], at[1] - others[0][1]) || 1;
      this.zoom(far(here) / far(before), (here[0] + others[0][0]) / 2, (here[1] + others[0][1]) / 2);
    } else if (this.moved >= 5) {
      hideTip();
      this.move(x, y);
    }
  }

  keyPressed(event) {
    const moves = { ArrowLeft: [-24, 0], ArrowRight: [24, 0], ArrowUp: [0, -24], ArrowDown: [0, 24] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves[event.key]) this.move(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.4);
    else if (event.key === "-") this.zoom(1 / 1.4);
    else if (event.key === "0") { this.reset(); this.paint(); }
    else if (event.key === ".") this.step(1);
    else if (event.key === ",") this.step(-1);
    else if (event.key === "Escape") {
      this.point(-1, false);
      shown.marked = null;
      tellSelection();
      paintPanels();
    }
    else return;
    event.preventDefault();
  }
}

function tellRow(view, i) {
  const truth = classes[labelOf(view, i)].name;
  const said = classes[view.predicted[i]].name;
  return [`${rowName(i)}: ${truth}`, isWrong(view, i) ? `taken for ${said}` : "predicted correctly"];
}

function setHot(i, keep) {
  shown.kept = keep;
  if (i === shown.hot) return;
  shown.hot = i;
  panels.forEach((panel) => panel.paintTop());
}

const paintPanels = () => panels.forEach((panel) => panel.paint());

function icon({ colour, shape }) {
  return draw("svg", { width: 14, height: 14, viewBox: "-.6 -.6 1.2 1.2", "aria-hidden": "true" },
    draw("path", { d: shapes[shape], style: `fill: var(--c${colour})` }));
}

function startProjections() {
  if (!rows.views.length) return;
  const buttons = classes.map((entry, code) => {
    const button = make("button", { type: "button", "aria-pressed": "true", title: entry.name },
      icon(entry), make("span", {}, entry.brief), make("small", {}, String(rows.labels.filter((l) => l === code).length)));
    toggle(button, (on) => {
      if (on) shown.hidden.delete(code);
      else shown.hidden.add(code);
      paintPanels();
    });
    return button;
  });
  const all = make("button", { type: "button", onclick: () => {
    const on = shown.hidden.size > 0;
    shown.hidden = new Set(on ? [] : classes.keys());
    buttons.forEach((button) => button.setAttribute("aria-pressed", on));
    paintPanels();
  } }, "All or none");
  const legend = byId("legend");
  legend.append(...(classes.length > 2 ? [all] : []), ...buttons);
  const more = make("button", { type: "button", class: "more", "aria-expanded": "false", hidden: "", onclick: () => {
    const open = legend.classList.toggle("open");
    more.setAttribute("aria-expanded", open);
    more.textContent = open ? "Fewer classes" : `Show all ${classes.length} classes`;
  } }, `Show all ${classes.length} classes`);
  legend.after(more);
  repaint.push(() => {
    const open = legend.classList.contains("open");
    const cut = legend.scrollHeight > legend.clientHeight + 1;
    legend.classList.toggle("cut", cut);
    more.hidden = !cut && !open;
  });
  rows.panels.forEach((name, place) => {
    const panel = new Panel(name, place);
    panels.push(panel);
    byId("panels").append(panel.node);
  });
  toggle(byId("three"), (on) => { shown.three = on; paintPanels(); });
  toggle(byId("wrong"), (on) => { shown.wrong = on; paintPanels(); });
  byId("three").hidden = !rows.views.some((view) => view.axes.length > 2);
  byId("points").addEventListener("click", savePoints);
  byId("reset").addEventListener("click", () => {
    shown.marked = null;
    tellSelection();
    panels.forEach((panel) => panel.reset());
    paintPanels();
  });
  repaint.push(paintPanels);
}

// the points of the pictures that are shown, as a table

function savePoints() {
  const shownViews = [...new Set(panels.map((panel) => panel.view))];
  const head = ["row", ...(rows.ids ? ["id"] : []), "class",
    ...shownViews.flatMap((view) => [...(view.labels ? [`${view.name}: class`] : []), ...view.axes.map((axis) => `${view.name}: ${axis}`), `${view.name}: predicted`])];
  const lines = rows.rows.map((row, i) => [row, ...(rows.ids ? [rows.ids[i]] : []), classes[rows.labels[i]].name,
    ...shownViews.flatMap((view) => [...(view.labels ? [classes[view.labels[i]].name] : []), ...view.coordinates.map((column) => column[i]), classes[view.predicted[i]].name])]);
  const cell = (value) => (typeof value === "string" ? `"${value.replaceAll('"', '""')}"` : value === null ? "" : value);
  saveFile("points.csv", "text/csv", [head, ...lines].map((line) => line.map(cell).join(",")).join("\n") + "\n");
}
