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
  const { tables, shown: first } = facts.loadings;
  if (!tables.length) return;
  const byName = new Map(tables.map((table) => [table.name, table]));
  const body = make("div", { class: "directions" });
  const show = (name) => {
    const table = byName.get(name);
    body.replaceChildren(...table.directions.map((each, i) => direction(each, i, table)));
  };
  byId("weights").append(choice("Method whose weights are shown", [...byName.keys()], first, show), body);
  show(first);
}

function direction({ words, features: listed, drawn, splits, stable }, i, table) {
  const features = listed.slice(0, drawn);
  const most = Math.max(...features.flatMap((f) => [Math.abs(f.low), Math.abs(f.high), Math.abs(f.weight)]), 1e-300);
  const many = table.n_splits > 1;
  const at = (v) => `${50 + (50 * v) / most}%`;
  const signed = (v) => (v > 0 ? "+" : "\u2212") + Math.abs(v).toFixed(2);
  const bars = features.map(({ feature, brief, weight, low, high, share, pattern }) => {
    const n = Math.round(share * splits);
    const lines = [feature, `weight ${signed(weight)}${many ? `, from ${signed(low)} to ${signed(high)} over splits` : ""}`,
      ...(pattern === null ? [] : [`pattern ${signed(pattern)}`]),
      ...(many ? [`among the ${table.n_top} largest in ${n} of ${splits} splits`] : [])];
    const row = make("div", { class: "weight", tabindex: 0, "aria-label": lines.join(", ") },
      make("span", { class: "what" }, brief),
      make("span", { class: "track" },
        make("i", { class: weight > 0 ? "up" : "down", style: `width: ${(50 * Math.abs(weight)) / most}%` }),
        many ? make("s", { style: `left: ${at(low)}; width: ${(50 * (high - low)) / most}%` }) : null,
        pattern === null ? null : make("u", { style: `left: ${50 + 50 * clamp(pattern, -1, 1)}%` })),
      make("b", {}, many ? `${n}/${splits}` : signed(weight)));
    const tell = () => { const box = row.getBoundingClientRect(); showTip(lines, box.left + box.width / 2, box.top); };
    for (const event of ["pointerenter", "focus", "click"]) row.addEventListener(event, tell);
    for (const event of ["pointerleave", "blur"]) row.addEventListener(event, hideTip);
    return row;
  });
  const found = splits < table.n_splits ? ` It is there in ${splits} of ${table.n_splits} splits.` : "";
  return make("div", {}, make("h3", {}, `Direction ${i + 1}`), make("p", { class: "fine" }, `${words.charAt(0).toUpperCase()}${words.slice(1)}.${found}`), ...bars,
    many ? stableList(stable, table) : null);
}

function stableList(stable, table) {
  const at = Math.ceil(0.8 * table.n_splits - 1e-9);
  if (!stable.length) return make("p", { class: "fine stable" }, `No feature is among the ${table.n_top} largest in ${at} of ${table.n_splits} splits.`);
  const text = make("code", {}, stable.join(", "));
  return make("p", { class: "fine stable" }, `Stable (${at} or more of ${table.n_splits} splits): `, text);
}
