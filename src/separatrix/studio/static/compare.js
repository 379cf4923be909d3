// Step 2: methods are compared; the table of scores and a picture fill in while folds finish.

import { attempt, caution, choose, field, inProject, make, percent, post } from "./api.js";
import { app, go, previewSame, readingOptions, refreshProject, settings } from "./app.js";
import { scatter } from "./draw.js";
import { followJob, lastJob, startJob } from "./jobs.js";

export async function showCompare(node) {
  const chosen = { quick: true, budget: "", methods: new Set(), score: "" };
  const board = make("div", { id: "board" });
  const picture = make("div", { id: "points" });
  const job = make("div", { id: "job" });
  const answer = make("section", { id: "answer", hidden: true });
  const options = () => ({
    ...readingOptions("compare"),
    quick: chosen.quick,
    budget: chosen.budget || null,
    methods: chosen.methods.size ? [[...chosen.methods].join(",")] : null,
    score: chosen.score || null,
    results: "compare.folds.jsonl",
    report: "report.html",
    json: true,
  });
  const shown = () => previewSame("compare", [settings().source], { ...options(), json: null, results: null });
  const start = make("button", { type: "button", class: "main", onclick: () => attempt(node, async () => {
    follow(await startJob("compare", [settings().source], options()));
  }) }, "Compare");

  function follow(started) {
    answer.hidden = true;
    followJob(job, started, {
      progress: (news) => news.board && board.replaceChildren(leaderboard(news.board)),
      result: () => make("span", {}),
      ended: async (whole) => {
        await refreshProject();
        if (whole.status === "done") showAnswer(answer, whole.result);
      },
    });
  }

  const quick = make("fieldset", { class: "row" }, make("legend", {}, "How thoroughly"),
    ...[[true, "A first look"], [false, "All of it: ten splits, every method"]].map(([value, title]) =>
      make("label", { class: "flip" }, make("input", { type: "radio", name: "quick", checked: chosen.quick === value,
        onchange: () => { chosen.quick = value; shown(); } }), " ", title)));
  const budget = make("input", { type: "number", min: "1", placeholder: "no limit", oninput: () => { chosen.budget = budget.value; shown(); } });
  node.append(make("h1", {}, "2 Compare"),
    make("section", {}, quick,
      make("div", { class: "row" }, field("Seconds for each method", budget),
        field("Judged by", choose("Judged by", [["", "as the classes need"], ["accuracy", "accuracy"], ["balanced_accuracy", "balanced accuracy"], ["auc", "area under the curve"], ["log_loss", "log-loss"]], "", (value) => { chosen.score = value; shown(); }))),
      methods(chosen, shown), make("p", {}, start)),
    answer, job, make("div", { class: "pair" }, board, picture));
  shown();
  showPoints(picture);
  const last = lastJob("compare");
  if (last) follow(last);
}

function methods(chosen, shown) {
  const boxes = app.state.methods.map((method) => make("label", { class: "flip", title: method.description },
    make("input", { type: "checkbox", onchange: (event) => {
      if (event.target.checked) chosen.methods.add(method.name);
      else chosen.methods.delete(method.name);
      shown();
    } }), " ", method.name));
  return make("details", {}, make("summary", {}, "Only some methods"), make("div", { class: "boxes" }, ...boxes));
}

async function showPoints(node) {
  node.replaceChildren(make("p", { class: "soft" }, "A first picture of the classes is being computed …"));
  try {
    const { source, ...options } = settings();
    const points = await post(inProject(app.project.name, "/points"), { source, options });
    node.replaceChildren(make("h2", {}, "A first picture"), scatter(points),
      make("p", { class: "fine" }, points.caption));
  } catch (error) {
    node.replaceChildren(caution(error));
  }
}

function leaderboard(methodsDone) {
  const done = methodsDone.filter((method) => method.accuracy !== null);
  const rows = done.map((method) => make("tr", {},
    make("th", { scope: "row" }, method.name),
    make("td", { class: "num" }, percent(method.accuracy)),
    make("td", { class: "num" }, String(method.splits)),
    make("td", { class: "bar-cell" }, make("meter", { min: "0", max: "1", value: String(method.accuracy), "aria-label": method.name }))));
  return make("div", { class: "scroll", tabindex: "0" }, make("h2", {}, "So far"), make("table", {},
    make("thead", {}, make("tr", {}, ...["Method", "Right", "Splits", ""].map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...rows)));
}

function showAnswer(node, result) {
  const sentences = result && (result.answer || result.verdict || result.text);
  const lines = Array.isArray(sentences) ? sentences : sentences ? [sentences] : [];
  node.hidden = false;
  node.replaceChildren(make("h2", {}, "The answer"),
    ...lines.slice(0, 5).map((line) => make("p", {}, typeof line === "string" ? line : JSON.stringify(line))),
    result && result.advised ? make("p", {}, "Advised: ", make("b", {}, result.advised.name || result.advised)) : null,
    make("div", { class: "row" },
      make("button", { type: "button", class: "main", onclick: () => go("explore") }, "Explore the result"),
      make("button", { type: "button", onclick: () => go("use") }, "Use the method")));
}
