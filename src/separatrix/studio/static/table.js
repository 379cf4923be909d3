// Step 1: a file becomes a table. Its columns are clicked, its faults are corrected by one click.

import { attempt, byId, caution, choose, field, inProject, make, post } from "./api.js";
import { app, go, keep, makeProject, previewSame, readingOptions, refreshProject, settings, showProjects, uploadFile } from "./app.js";

const ROLES = [
  ["feature", "feature"], ["target", "label"], ["id", "names the rows"], ["group", "group, such as a patient"],
  ["time", "time"], ["split", "split into train and test"], ["text", "text, learn its words"], ["ignore", "ignore"],
];
const MANY = ["id", "ignore", "text"];

export async function showTable(node) {
  node.append(make("h1", {}, "1 Table"), sources(node));
  const shown = make("div", { id: "look" });
  node.append(shown);
  if (app.project && settings().source) await attempt(node, () => look(shown));
}

function sources(node) {
  const file = make("input", { type: "file", onchange: () => takeFiles(node, file.files) });
  const path = make("input", {
    type: "text", placeholder: "a path, a folder, duckdb:rows.parquet …", value: (app.project && settings().source) || "",
  });
  const bundled = choose("An example", [["", "…"], ...app.state.datasets], "", (name) => name && takeSource(node, name));
  const drop = make("section", {
    class: "drop",
    ondragover: (event) => { event.preventDefault(); drop.classList.add("over"); },
    ondragleave: () => drop.classList.remove("over"),
    ondrop: (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      takeFiles(node, event.dataTransfer.files);
    },
  },
    make("p", {}, "Drop a table here: csv, tsv, Excel, parquet, arff, npz, FASTA, epochs, .npy with its labels."),
    make("div", { class: "row" },
      field("A file", file),
      field("or where it is", make("span", { class: "row" }, path,
        make("button", { type: "button", onclick: () => takeSource(node, path.value.trim()) }, "Open"))),
      field("or an example", bundled)));
  return drop;
}

const stem = (text) => (text.split(/[\\/]/).pop().replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{N} _.-]/gu, " ").trim()
  .replace(/^[.\-~]+/, "") || "project").slice(0, 60).trim();

// Another table has other columns: it gets a project of its own.
const isOther = (source) => !app.project || (settings().source && settings().source !== source);

async function takeFiles(node, files) {
  if (!files.length) return;
  await attempt(node, async () => {
    const first = files[0];
    if (isOther(first.name)) await makeProject(stem(first.name));
    for (const file of files) await uploadFile(file);
    const sheet = files[1] ? files[1].name : settings().samples;
    const second = first.name.endsWith(".npy") ? { labels: sheet } : { samples: sheet };
    await keep({ source: first.name, ...(sheet ? second : {}) });
    app.look = null;
    showProjects();
    await go("table");
  });
}

async function takeSource(node, source) {
  if (!source) return;
  await attempt(node, async () => {
    if (isOther(source)) await makeProject(stem(source));
    await keep({ source });
    app.look = null;
    await go("table");
  });
}

async function change(changes) {
  await attempt(byId("step"), async () => {
    await keep(changes);
    await look(byId("look"));
  });
}

async function look(shown) {
  const options = Object.fromEntries(Object.entries(settings()).filter(([name]) => name !== "source"));
  try {
    app.look = await post(inProject(app.project.name, "/look"), { source: settings().source, options });
  } catch (error) {
    app.look = null;
    const anew = Object.fromEntries(Object.keys(options).map((name) => [name, null]));
    shown.replaceChildren(switches(), caution(error), Object.keys(anew).length
      ? make("button", { type: "button", onclick: () => change(anew) }, "Read the table anew, without what was chosen") : "");
    return;
  }
  // what was found is kept, so that every command reads the table in the same way
  const found = Object.entries(app.look.reading).filter(([name]) => settings()[name] === undefined);
  if (found.length) await keep(Object.fromEntries(found));
  shown.replaceChildren(switches(), problems(), summary(), grid(),
    make("p", {}, make("button", { type: "button", class: "main", onclick: async () => {
      await keep({ target: app.look.target });
      await go("compare");
    }, disabled: !app.look.target }, "Compare methods")));
  previewSame("look", [settings().source], readingOptions("look"));
}

function switches() {
  const now = (app.look && app.look.reading) || {};
  const pick = (label, name, values, value) => field(label, choose(label, values, value ?? "",
    (chosen) => change({ [name]: chosen === "" ? null : chosen })));
  const flip = (label, name, on, off = null) => {
    const box = make("input", { type: "checkbox", checked: on, onchange: () => change({ [name]: box.checked ? true : off }) });
    return make("label", { class: "flip" }, box, " ", label);
  };
  return make("section", { class: "row", "aria-label": "How the file is read" },
    pick("Separator", "sep", [["", `as found${now.sep ? ` (${JSON.stringify(now.sep)})` : ""}`], [",", "comma"], [";", "semicolon"], ["\t", "tab"], [" ", "space"], ["|", "bar"]], settings().sep),
    pick("Decimals", "decimal", [["", "as found"], [".", "point 0.5"], [",", "comma 0,5"]], settings().decimal),
    pick("Gaps", "missing", [["", "refuse"], ["mean", "mean of the column"], ["median", "median"], ["most_frequent", "most frequent"], ["constant:0", "0"]], settings().missing),
    pick("Columns of words", "categorical", [["", "refuse"], ["onehot", "a column for each value"]], settings().categorical),
    flip("Samples are columns", "transposed", Boolean(settings().transposed)),
    flip("The first line has no names", "no-header", Boolean(settings()["no-header"])),
    samples());
}

function samples() {
  const files = app.project.files.map((file) => file.name).filter((name) => name !== settings().source && /\.(csv|tsv|txt|xlsx)$/.test(name));
  const box = make("input", { type: "file", "aria-label": "Sample sheet", onchange: () => attempt(byId("step"), async () => {
    if (!box.files.length) return;
    await change({ samples: await uploadFile(box.files[0]) });
  }) });
  return field("Sample sheet (labels by id)", make("span", { class: "row" },
    choose("Sample sheet", [["", "none"], ...files.map((name) => [name, name])], settings().samples || "",
      (name) => change({ samples: name || null })), box));
}

function problems() {
  const list = app.look.problems || [];
  if (!list.length) return make("p", { class: "good" }, "No fault was found in the table.");
  return make("section", { class: "problems", "aria-label": "Problems" },
    make("h2", {}, list.length === 1 ? "One thing to look at" : `${list.length} things to look at`),
    make("ul", {}, ...list.map((problem) => make("li", {}, problem.text, " ",
      problem.fix ? make("button", { type: "button", onclick: () => change(merged(problem.fix)) }, problem.action) : null,
      problem.clean ? make("button", { type: "button", onclick: () => cleaned(problem.clean) }, problem.action) : null))));
}

async function cleaned(what) {
  await attempt(byId("step"), async () => {
    const { source, ...options } = settings();
    const copy = await post(inProject(app.project.name, "/clean"), { source, options, what });
    await keep({ source: copy.name, sep: null, decimal: null, thousands: null, transposed: null, "no-header": null });
    await refreshProject();
    await go("table");
  });
}

// a fix of options that are lists adds to what is there
function merged(fix) {
  return Object.fromEntries(Object.entries(fix).map(([name, value]) =>
    [name, Array.isArray(value) ? [...new Set([...(settings()[name] || []), ...value])] : value]));
}

function summary() {
  const { rows, features, classes } = app.look;
  const sizes = (classes || []).map((one) => `${one.name} ${one.count}`).join(", ");
  return make("p", { class: "lead" }, `${rows ?? "?"} rows, ${features ?? "?"} features`,
    app.look.target ? `; label ${app.look.target}: ${sizes}` : "; no label yet: click the column that has the classes");
}

function roleOf(name) {
  for (const [role] of ROLES) {
    const value = settings()[role];
    if (Array.isArray(value) ? value.includes(name) : value === name) return role;
  }
  return name === app.look.target ? "target" : "feature";
}

function setRole(name, role) {
  const changes = {};
  for (const [other] of ROLES) {
    const value = settings()[other];
    if (Array.isArray(value) && value.includes(name)) changes[other] = value.filter((one) => one !== name);
    else if (value === name) changes[other] = null;
  }
  if (MANY.includes(role)) changes[role] = [...(settings()[role] || []).filter((one) => one !== name), name];
  else if (role !== "feature") changes[role] = name;
  return change(changes);
}

function grid() {
  const { columns, head } = app.look;
  const names = columns.map((column) => column.name);
  return make("div", { class: "scroll grid", tabindex: "0", role: "region", "aria-label": "First rows" }, make("table", {},
    make("thead", {}, make("tr", {}, ...columns.map((column) => {
      const role = roleOf(column.name);
      return make("th", { scope: "col", class: `role-${role}` },
        make("span", {}, column.name),
        choose(`What ${column.name} is`, ROLES, role, (chosen) => setRole(column.name, chosen)));
    }))),
    make("tbody", {}, ...head.map((row) => make("tr", {}, ...names.map((name, j) => {
      const cell = row[j];
      return make("td", { class: `role-${roleOf(name)}` }, cell === null || cell === "" ? make("i", { class: "gap" }, "gap") : String(cell));
    }))))),
    columns.length < app.look.n_columns ? make("p", { class: "fine" }, `${app.look.n_columns - columns.length} more columns are not shown.`) : null);
}
