// Step 5: streams, early decisions, merging and forgetting.

import { attempt, choose, fileAddress, field, make, percent } from "./api.js";
import { app, downloadLink, previewSame, readingOptions, refreshProject, settings, uploadFile } from "./app.js";
import { followJob, startJob } from "./jobs.js";

export async function showLive(node) {
  node.append(make("h1", {}, "5 Live"));
  if (!app.project) {
    node.append(make("p", {}, "Open a table first."));
    return;
  }
  await refreshProject();
  node.append(stream(), early(), merge(), forget());
}

const modelsKept = () => app.project.files.map((file) => file.name).filter((name) => name.endsWith(".model"));

function part(title, hint, controls, run) {
  const job = make("div", {});
  const section = make("section", { "aria-label": title }, make("h2", {}, title), make("p", { class: "soft" }, hint),
    make("div", { class: "row" }, ...controls, make("button", { type: "button", class: "main", onclick: () => attempt(section, () => run(job)) }, "Start")), job);
  return section;
}

const PAUSE = 20_000; // milliseconds between two looks at a file that grows

function stream() {
  const source = make("input", { type: "text", value: settings().source || "", "aria-label": "Rows that come" });
  const size = make("input", { type: "number", min: "1", value: "100", "aria-label": "Rows of a batch" });
  const resume = make("input", { type: "checkbox" });
  const again = make("input", { type: "checkbox" });
  const options = (goesOn) => ({ ...readingOptions("stream"), "batch-size": size.value, output: "stream.model",
    drift: true, "open-classes": true, resume: goesOn, restart: !goesOn, json: true });
  const shown = () => previewSame("stream", [source.value], { ...options(resume.checked), json: null });
  for (const control of [source, size, resume]) control.addEventListener("change", shown);
  if (source.value) shown();
  const run = async (job, goesOn) => followJob(job, await startJob("stream", [source.value], options(goesOn)), {
    result: sayLearned,
    ended: (whole) => {
      const isHere = () => again.checked && job.isConnected;
      if (whole.status === "done" && isHere()) setTimeout(() => isHere() && attempt(job, () => run(job, true)), PAUSE);
    },
  });
  return part("Learn from a stream", "Batch after batch is predicted before it is learned. Stop it, and go on later.",
    [field("Rows that come", source), field("Rows of a batch", size), make("label", { class: "flip" }, resume, " go on with stream.model"),
      make("label", { class: "flip" }, again, " look for new rows every 20 seconds")],
    (job) => run(job, resume.checked));
}

function sayLearned(result) {
  const changes = (result.drift || []).map((change) => make("li", {}, change.words));
  return make("div", {},
    make("p", { class: "big" }, result.tested ? `${percent(result.error)} wrong` : `${result.rows} rows learned`),
    make("p", {}, `${result.rows} rows; ${result.tested} of them were predicted before they were learned.`),
    result.expected_error ? make("p", {}, `${result.expected_error}.`) : null,
    changes.length ? make("ul", {}, ...changes) : make("p", { class: "good" }, "No change of the classes was seen."));
}

function early() {
  const reliability = make("input", { type: "range", min: "0.5", max: "0.99", step: "0.01", value: "0.9", "aria-label": "Reliability", oninput: () => { shown.textContent = reliability.value; } });
  const shown = make("output", {}, "0.9");
  const frame = make("div", {});
  const section = part("Decide before a series ends", "Columns are the values of a series in the order of time.",
    [field("Reliability", make("span", { class: "row" }, reliability, shown))],
    async (job) => followJob(job, await startJob("early", [settings().source],
      { ...readingOptions("early"), reliability: reliability.value, report: "early.html", json: true }), {
      ended: (whole) => {
        if (whole.status === "done") {
          frame.replaceChildren(make("iframe", { class: "report", title: "Early decisions", sandbox: "allow-scripts allow-downloads", src: fileAddress(app.project.name, "early.html") }));
        }
      },
    }));
  section.append(frame);
  return section;
}

async function offer(job, whole, ...files) {
  await refreshProject();
  if (whole.status === "done") job.append(make("div", { class: "row" }, ...files.map(downloadLink)));
}

function merge() {
  const boxes = modelsKept().map((name) => make("label", { class: "flip" }, make("input", { type: "checkbox", value: name }), ` ${name}`));
  const more = make("input", { type: "file", multiple: "", "aria-label": "Models of others", onchange: () => attempt(section, async () => {
    for (const file of more.files) {
      const name = await uploadFile(file);
      list.append(make("label", { class: "flip" }, make("input", { type: "checkbox", value: name, checked: true }), ` ${name}`));
    }
  }) });
  const list = make("div", { class: "boxes" }, ...boxes);
  const section = part("Merge models", "Models of other sites become one, as if their rows had been together.", [list, field("Models of others", more)],
    async (job) => {
      const names = [...list.querySelectorAll("input:checked")].map((box) => box.value);
      if (names.length < 2) throw new Error("Choose two models, or more.");
      const output = "merged.model";
      followJob(job, await startJob("merge", names, { output, json: true }), { ended: (whole) => offer(job, whole, output) });
    });
  return section;
}

function forget() {
  const models = modelsKept();
  const chosen = { model: models[0] || "" };
  const rows = make("input", { type: "file", "aria-label": "Rows to forget" });
  return part("Forget rows", "The result is the model that never saw these rows, with a certificate.",
    [field("Model", choose("Model", models.length ? models : [["", "none yet"]], chosen.model, (value) => { chosen.model = value; })), field("Table of the rows", rows)],
    async (job) => {
      if (!chosen.model || !rows.files.length) throw new Error("Choose a model and a table of rows.");
      const file = await uploadFile(rows.files[0]);
      const output = `without-${chosen.model}`, certificate = output.replace(/model$/, "json");
      followJob(job, await startJob("forget", [chosen.model, file], { ...readingOptions("forget"), output, certificate, json: true }),
        { ended: (whole) => offer(job, whole, output, certificate) });
    });
}
