// Step 3: the page of the report, as the command writes it.

import { choose, fileAddress, make } from "./api.js";
import { app, go, refreshProject } from "./app.js";

export async function showExplore(node) {
  await refreshProject();
  const reports = app.project.files.map((file) => file.name).filter((name) => name.endsWith(".html"));
  node.append(make("h1", {}, "3 Explore"));
  if (!reports.length) {
    node.append(make("p", {}, "There is no report yet. "),
      make("button", { type: "button", onclick: () => go("compare") }, "Compare methods first"));
    return;
  }
  const frame = make("iframe", { class: "report", title: "Report", sandbox: "allow-scripts allow-downloads" });
  const save = make("a", { class: "button", download: "" }, "Download this page");
  const show = (name) => {
    frame.src = fileAddress(app.project.name, name);
    save.href = `${frame.src}?save`;
  };
  node.append(make("div", { class: "row" }, choose("Report", reports, reports[0], show), save), frame);
  show(reports[0]);
}
