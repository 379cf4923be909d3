"use strict";
(() => {
  const facts = JSON.parse(document.getElementById("facts").textContent);
  const classes = facts.data.classes;
  const byId = (id) => document.getElementById(id);
  const percent = (share) => `${(100 * share).toFixed(1)}\u00a0%`;
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  // Elements. Text is always set as text, never as HTML.

  function fill(node, attributes, children) {
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (value !== null && value !== undefined) node.setAttribute(key, value);
    }
    node.append(...children.filter((child) => child !== null));
    return node;
  }
  const make = (name, attributes = {}, ...children) =>
    fill(document.createElement(name), attributes, children);
  const draw = (name, attributes = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

  function choice(label, names, chosen, change) {
    const options = names.map((name) => make("option", { value: name }, name));
    const select = make("select", { "aria-label": label, onchange: () => change(select.value) }, ...options);
    select.value = chosen;
    return select;
  }

  function toggle(button, change) {
    button.addEventListener("click", () => {
      const pressed = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", pressed);
      change(pressed);
    });
  }

  const tip = byId("tip");
  function showTip(lines, x, y) {
    tip.replaceChildren(...lines.map((line) => make("div", {}, line)));
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    tip.style.left = `${clamp(x + 14, 4, Math.max(4, innerWidth - width - 4))}px`;
    tip.style.top = `${y - height - 12 < 4 ? y + 16 : y - height - 12}px`;
  }
  const hideTip = () => { tip.hidden = true; };

  // Light and dark.

  const darkSheet = byId("dark");
  const darkWanted = matchMedia("(prefers-color-scheme: dark)");
  const repaint = []; // functions that draw with the colours of now
  const colours = {};
  let dark = darkWanted.matches;

  function readColours() {
    const style = getComputedStyle(document.documentElement);
    for (const key of ["paper", "ink", "soft", "line", "accent", "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"]) {
      colours[key] = style.getPropertyValue(`--${key}`).trim();
    }
  }
  function paintAll() {
    readColours();
    for (const paint of repaint) paint();
  }
  function setDark(on, forced) {
    dark = on;
    if (forced) darkSheet.media = on ? "screen" : "not all";
    byId("theme").textContent = on ? "Light" : "Dark";
    byId("theme").setAttribute("aria-label", `Switch to ${on ? "light" : "dark"} colours`);
    paintAll();
  }
  byId("theme").addEventListener("click", () => setDark(!dark, true));
  darkWanted.addEventListener("change", (event) => setDark(event.matches, false));
  addEventListener("beforeprint", () => {
    darkSheet.dataset.before = darkSheet.media;
    darkSheet.media = "not all";
    paintAll();
  });
  addEventListener("afterprint", () => {
    darkSheet.media = darkSheet.dataset.before;
    paintAll();
  });

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
      const known = column.filter((value) => value !== null);
      const low = known.reduce((a, b) => Math.min(a, b), Infinity);
      const high = known.reduce((a, b) => Math.max(a, b), -Infinity);
      const half = (high - low) / 2 || 1;
      return Float64Array.from(column, (v) => (v === null ? NaN : (v - low) / half - (high > low ? 1 : 0)));
    });
  }

  const isWrong = (view, i) => view.predicted[i] !== rows.labels[i];

  // along one direction rows lie in a lane for each class, scattered so that they can be distinguished
  function lane(i) {
    const n = classes.length;
    const scatter = ((i * 0.6180339887) % 1) - 0.5;
    return (2 * (rows.labels[i] + 0.5)) / n - 1 + (1.3 * scatter) / n;
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
        const [x, y, depth] = this.project(a[i], b ? b[i] : lane(i), c ? c[i] : 0);
        [this.x[i], this.y[i]] = [x, y];
        key[i] = this.solid ? -depth : wrong;
        const hide = shown.hidden.has(rows.labels[i]) || (shown.wrong && !wrong);
        if (!hide && Number.isFinite(x + y)) this.order.push(i);
      }
      this.order.sort((i, j) => key[i] - key[j]);
    }

    paintRow(brush, i) {
      const size = rows.labels.length > 1500 ? 6 : rows.labels.length > 300 ? 8 : 10;
      const { colour, shape } = classes[rows.labels[i]];
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

    describe() {
      const { name, words, about } = this.view;
      const parts = [make("b", {}, words), about ? `, ${about}` : ""];
      if (shown.marked) {
        const right = [...shown.marked].filter((i) => !isWrong(this.view, i)).length;
        parts.push(make("br"), `${right} of ${shown.marked.size} marked rows correct`);
      }
      if (shown.hot >= 0) {
        parts.push(make("br"), `Row ${rows.rows[shown.hot]} is taken for `,
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
        paintPanels();
      }
      else return;
      event.preventDefault();
    }
  }

  function tellRow(view, i) {
    const truth = classes[rows.labels[i]].name;
    const said = classes[view.predicted[i]].name;
    return [`row ${rows.rows[i]}: ${truth}`, isWrong(view, i) ? `taken for ${said}` : "predicted correctly"];
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
    byId("reset").addEventListener("click", () => {
      shown.marked = null;
      panels.forEach((panel) => panel.reset());
      paintPanels();
    });
    repaint.push(paintPanels);
  }

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
    if (raw) values.push(raw.mean);
    const y = accuracyAxis(svg, values, left, right, top, bottom);
    const longest = facts.dimension.longest;
    const x = (d) => left + (Math.log(d) / Math.log(longest)) * (right - left);
    for (const d of [1, 2, 3, 5, 10, 20, 40].filter((d) => d <= longest)) {
      svg.append(draw("text", { x: x(d), y: bottom + 19, "text-anchor": "middle" }, String(d)));
    }
    svg.append(draw("text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle" }, "directions kept"));
    if (raw) {
      svg.append(draw("line", { x1: left, x2: right, y1: y(raw.mean), y2: y(raw.mean), stroke: colours.soft, "stroke-dasharray": "6 5" }));
    }
    const ends = raw ? [{ at: y(raw.mean), name: `${raw.label} ${percent(raw.mean)}`, colour: colours.soft }] : [];
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

  // Confusion matrices and weights, for a method that is chosen.

  function startConfusion() {
    const { tables, shown: first } = facts.confusion;
    const byName = new Map(tables.map((table) => [table.name, table]));
    if (dense && tables.length) byId("matrices").classList.add("dense");
    first.forEach((name, place) => {
      const body = make("div");
      const show = (chosen) => body.replaceChildren(...matrix(byName.get(chosen)));
      byId("matrices").append(make("div", {}, choice(`Method of matrix ${place + 1}`, [...byName.keys()], name, show), body));
      show(name);
    });
  }

  // Many classes make narrow columns, with numbers in place of names, and zeros are not written.
  const { numbered } = facts.confusion;
  const dense = classes.length > 12;
  const kind = ["matrix", ...(classes.length > 6 || numbered ? ["compact"] : []), ...(numbered ? ["numbered"] : []), ...(dense ? ["dense"] : [])].join(" ");

  function matrix(table) {
    const parts = [];
    if (table.counts) {
      const head = make("tr", {}, make("td"), ...classes.map((c, j) =>
        make("th", { scope: "col", title: c.name, class: (j + 1) % 5 ? "between" : null }, numbered ? String(j + 1) : c.brief)));
      const body = table.counts.map((counts, i) => {
        const tested = counts.reduce((a, b) => a + b, 0);
        const name = make("span", {}, classes[i].brief);
        return make("tr", {}, make("th", { scope: "row", title: classes[i].name }, ...(numbered ? [make("b", {}, String(i + 1)), name] : [name])),
          ...counts.map((n, j) => cell(n, tested, i, j)));
      });
      const grid = make("table", { class: kind }, make("thead", {}, head), make("tbody", {}, ...body));
      for (const event of ["pointerover", "click"]) grid.addEventListener(event, (e) => tellCell(e, table));
      grid.addEventListener("pointerleave", hideTip);
      parts.push(make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Confusion matrix of ${table.name}` }, grid));
    }
    const said = table.wrong ? `${table.wrong} of ${table.tested} wrong. Most often:` : `None of ${table.tested} wrong.`;
    parts.push(make("p", { class: "fine" }, said), make("ul", { class: "mistakes" }, ...table.mistakes.map((m) => make("li", {}, m))));
    return parts;
  }

  function cell(n, tested, i, j) {
    const share = tested ? n / tested : 0;
    const colour = i === j ? "--c0" : "--c1";
    const strength = n ? Math.round(10 + 60 * Math.sqrt(share) * (i === j ? 0.75 : 1)) : 0;
    const style = n ? `background: color-mix(in srgb, var(${colour}) ${strength}%, var(--paper))` : null;
    return make("td", { class: n ? null : "zero", style }, String(n));
  }

  function tellCell(event, table) {
    const at = event.target.closest("td");
    const [i, j] = at ? [at.parentNode.rowIndex - 1, at.cellIndex - 1] : [-1, -1];
    if (i < 0 || j < 0) return hideTip();
    const n = table.counts[i][j], tested = table.counts[i].reduce((a, b) => a + b, 0);
    const what = i === j ? `${classes[i].name} recognised` : `${classes[i].name} taken for ${classes[j].name}`;
    showTip([what, `${n} of ${tested}`], event.clientX, event.clientY);
  }

  function startLoadings() {
    const { tables } = facts.loadings;
    if (!tables.length) return;
    const byName = new Map(tables.map((table) => [table.name, table]));
    const body = make("div", { class: "directions" });
    const show = (name) => body.replaceChildren(...byName.get(name).directions.map(direction));
    byId("weights").append(choice("Method whose weights are shown", [...byName.keys()], tables[0].name, show), body);
    show(tables[0].name);
  }

  function direction({ words, features }, i) {
    const most = Math.max(...features.map((f) => Math.abs(f.weight)), 1e-300);
    const bars = features.map(({ feature, brief, weight }) =>
      make("div", { class: "weight" }, make("span", { class: "what", title: feature }, brief),
        make("span", { class: "track" }, make("i", { class: weight > 0 ? "up" : "down", style: `width: ${(50 * Math.abs(weight)) / most}%` })),
        make("b", {}, (weight > 0 ? "+" : "−") + Math.abs(weight).toFixed(2))));
    return make("div", {}, make("h3", {}, `Direction ${i + 1}`), make("p", { class: "fine" }, words), ...bars);
  }

  // Saving and copying.

  byId("save").addEventListener("click", () => {
    const file = new Blob([JSON.stringify(facts)], { type: "application/json" });
    const link = make("a", { href: URL.createObjectURL(file), download: "report.json" });
    link.click();
    URL.revokeObjectURL(link.href);
  });
  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", () => {
      const code = button.closest("figure").querySelector("code");
      getSelection().selectAllChildren(code);
      document.execCommand("copy");
      button.textContent = "Copied";
    });
  }

  startProjections();
  startDimension();
  startTime();
  startConfusion();
  startLoadings();
  setDark(dark, false);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) paintAll();
    width = innerWidth;
  });
  document.documentElement.dataset.ready = "yes";
})();
