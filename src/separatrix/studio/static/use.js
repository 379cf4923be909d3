// Step 4: a model is fitted, tried on rows, judged, and taken away.

import { attempt, choose, fileAddress, field, get, inProject, make, percent, post, table } from "./api.js";
import { app, downloadLink, previewSame, readingOptions, refreshProject, settings, uploadFile } from "./app.js";
import { followJob, lastJob, startJob } from "./jobs.js";

const MOST_SLIDERS = 12;

export async function showUse(node) {
  await refreshProject();
  const job = make("div", {});
  const models = make("div", { id: "model" });
  const compared = lastJob("compare", (one) => one.status === "done");
  const advised = compared && compared.result && compared.result.advised;
  const chosen = { method: (advised && (advised.name || advised)) || "FisherDiscriminant", tune: false };
  const options = () => ({ ...readingOptions("fit"), method: chosen.method, tune: chosen.tune,
    output: `${chosen.method}.model`, json: true });
  const shown = () => previewSame("fit", [settings().source], { ...options(), json: null });
  const names = [...new Set([chosen.method, ...app.state.methods.map((method) => method.name)])];
  node.append(make("h1", {}, "4 Use"),
    make("section", { class: "row" },
      field("Method", choose("Method", names, chosen.method, (value) => { chosen.method = value; shown(); })),
      make("label", { class: "flip" }, make("input", { type: "checkbox", onchange: (event) => { chosen.tune = event.target.checked; shown(); } }), " choose its settings by rows held out"),
      make("button", { type: "button", class: "main", onclick: () => attempt(node, async () => {
        followJob(job, await startJob("fit", [settings().source], options()), {
          ended: async () => { await refreshProject(); showModels(models); },
        });
      }) }, "Fit")),
    job, models);
  shown();
  showModels(models);
}

function showModels(node) {
  const names = app.project.files.map((file) => file.name).filter((name) => name.endsWith(".model"));
  if (!names.length) {
    node.replaceChildren(make("p", { class: "soft" }, "No model is kept yet."));
    return;
  }
  const shown = make("div", {});
  const show = (name) => attempt(node, () => showModel(shown, name));
  node.replaceChildren(field("Model", choose("Model", names, names[0], show)), shown);
  show(names[0]);
}

async function showModel(node, name) {
  node.replaceChildren();
  const model = await get(inProject(app.project.name, `/models/${encodeURIComponent(name)}`));
  node.replaceChildren(
    make("p", { class: "lead" }, `${model.method}: ${model.classes.length} classes (${model.classes.slice(0, 12).join(", ")}), ${model.features.length} features`),
    tryRow(name, model), tryFile(name), questions(name), takeAway(name));
}

// Sliders of the features that weigh most; the others stay at their means.
function tryRow(name, model) {
  const values = Object.fromEntries(model.features.map((feature) => [feature.name, feature.mean ?? 0]));
  const answer = make("div", { class: "answer", "aria-live": "polite" });
  let running = false, again = false;
  async function judge() {
    if (running) { again = true; return; }
    running = true;
    await attempt(answer, async () => {
      const [row] = (await post(inProject(app.project.name, "/predict"), { model: name, rows: [values] })).rows;
      answer.replaceChildren(make("p", { class: "big" }, row.prediction),
        row.unlike ? make("p", { class: "caution" }, "This row is unlike all rows that the model has learned: its class means little.") : "",
        ...Object.entries(row.probabilities || {}).map(([label, p]) => make("p", { class: "share" },
          make("span", {}, label), make("meter", { min: "0", max: "1", value: String(p), "aria-label": label }), make("span", {}, percent(p)))));
    });
    running = false;
    if (again) { again = false; judge(); }
  }
  const sliders = model.features.slice(0, MOST_SLIDERS).map((feature) => {
    const middle = feature.mean ?? 0, width = 3 * (feature.deviation || 1);
    const shown = make("output", {}, String(Number(middle.toPrecision(4))));
    const slider = make("input", { type: "range", min: String(middle - width), max: String(middle + width), step: String(width / 100), value: String(middle),
      "aria-label": feature.name, oninput: () => {
        values[feature.name] = Number(slider.value);
        shown.textContent = Number(values[feature.name].toPrecision(4));
        judge();
      } });
    return make("label", { class: "slider" }, make("span", {}, feature.name), slider, shown);
  });
  const pasted = make("textarea", { rows: "3", "aria-label": "Values of a row", placeholder: "Paste a line of names and a line of values, or values in the order of the table." });
  const use = make("button", { type: "button", onclick: () => attempt(section, async () => {
    Object.assign(values, readPasted(pasted.value, model.names));
    judge();
  }) }, "Try this row");
  const section = make("section", { "aria-label": "Try a row" }, make("h2", {}, "Try a row"),
    make("div", { class: "pair" }, make("div", {}, ...sliders, pasted, use), answer));
  judge();
  return section;
}

function readPasted(text, names) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  if (!lines.length) throw new Error("Paste the values of a row first.");
  const mark = /[\t;]/.test(text) ? /[\t;]/ : /,/.test(text) ? /,/ : /\s+/;
  const cells = lines.map((line) => line.trim().split(mark).map((cell) => cell.trim()));
  const named = lines.length > 1;
  const heads = named ? cells[0] : names, row = cells[named ? 1 : 0];
  if (row.length !== heads.length) throw new Error(`${heads.length} values are needed, and there are ${row.length}.`);
  return Object.fromEntries(heads.map((name, j) => {
    const value = Number(row[j].replace(",", "."));
    return [name, Number.isFinite(value) && row[j] !== "" ? value : row[j]];
  }).filter(([name]) => names.includes(name)));
}

function tryFile(name) {
  const job = make("div", {});
  const box = make("input", { type: "file", "aria-label": "Rows to classify", onchange: () => attempt(section, async () => {
    if (!box.files.length) return;
    const file = await uploadFile(box.files[0]);
    const output = `${file.replace(/\.[^.]*$/, "")}-predicted.csv`;
    followJob(job, await startJob("predict", [name, file], { output, proba: true, json: true }), { ended: async (whole) => {
      await refreshProject();
      if (whole.status === "done") job.append(downloadLink(output));
    } });
  }) });
  const section = make("section", { "aria-label": "Classify a file" }, make("h2", {}, "Classify a file"), box, job);
  return section;
}

const QUESTIONS = [
  ["error", "How often will it be wrong?", {}],
  ["features", "Which features matter, with an error rate that is controlled?", {}],
  ["info", "What is in the model?", {}],
];

// Results in words, where tables of numbers would have to be read.
const ANSWERS = {
  error: (result) => make("div", {},
    make("p", { class: "big" }, result.known ? `${percent(result.error)} of new rows` : "Not known"),
    make("p", {}, result.known
      ? `Between ${percent(result.low)} and ${percent(result.high)} are expected to get a wrong class.`
      : `About ${percent(result.error)}, but moments cannot know: ${result.why}.`),
    "rows_needed" in result ? make("p", {}, Number.isFinite(result.rows_needed)
      ? `${percent(result.goal)} are expected with ${Math.ceil(result.rows_needed)} rows.`
      : `${percent(result.goal)} are not expected with any number of rows.`) : null),
  features: (result) => make("div", {}, make("p", {}, `${result.features.length} features: ${result.note}.`),
    result.features.length ? table(["Feature", "Evidence"], result.features.map((feature, j) =>
      [feature, String(Number(result.evidence[j].toPrecision(3)))])) : null),
};

function questions(name) {
  const job = make("div", {});
  const goal = make("input", { type: "number", min: "0.001", max: "0.5", step: "0.01", placeholder: "such as 0.05", "aria-label": "Error to reach" });
  const asked = QUESTIONS.filter(([command]) => app.state.commands[command]).map(([command, title, options]) =>
    make("button", { type: "button", onclick: () => attempt(section, async () => {
      const extra = command === "error" && goal.value ? { goal: goal.value } : {};
      followJob(job, await startJob(command, [name], { ...options, ...extra, json: true }), { result: ANSWERS[command] });
    }) }, title));
  const section = make("section", { "aria-label": "Ask the model" }, make("h2", {}, "Ask the model"),
    make("div", { class: "row" }, ...asked, app.state.commands.error ? field("Rows needed for an error of", goal) : null), job);
  return section;
}

function takeAway(name) {
  const job = make("div", {});
  const forms = [["onnx", "ONNX"], ["sql", "SQL"], ["csv", "table of weights"], ["json", "JSON"]];
  const base = name.replace(/\.model$/, "");
  const section = make("section", { "aria-label": "Take it away" }, make("h2", {}, "Take it away"), make("div", { class: "row" },
    make("a", { class: "button", href: `${fileAddress(app.project.name, name)}?save`, download: "" }, "Model"),
    ...forms.map(([ending, title]) => make("button", { type: "button", onclick: () => attempt(section, async () => {
      const output = `${base}.${ending}`;
      followJob(job, await startJob("export", [name], { output, json: true }), { ended: async (whole) => {
        await refreshProject();
        if (whole.status === "done") job.append(downloadLink(output));
      } });
    }) }, title)),
    ...["shell", "python"].map((kind) => make("button", { type: "button", onclick: () => attempt(section, () => saveScript(kind)) },
      kind === "shell" ? "Shell script" : "Python script"))), job);
  return section;
}

async function saveScript(kind) {
  const fitted = lastJob("fit");
  if (!fitted) throw new Error("Fit a model first.");
  const text = kind === "shell" ? `#!/bin/sh\nset -e\n${fitted.shell}\n` : `${fitted.python}\n`;
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  make("a", { href: address, download: kind === "shell" ? "fit.sh" : "fit.py" }).click();
  URL.revokeObjectURL(address);
}
