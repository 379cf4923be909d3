// The page: one project, five steps, and the command that does the same without the page.

import { attempt, byId, fileAddress, get, inProject, make, post, ask } from "./api.js";
import { showTable } from "./table.js";
import { showCompare } from "./compare.js";
import { showExplore } from "./explore.js";
import { showUse } from "./use.js";
import { showLive } from "./live.js";

const STEPS = [
  ["table", "Table", showTable],
  ["compare", "Compare", showCompare],
  ["explore", "Explore", showExplore],
  ["use", "Use", showUse],
  ["live", "Live", showLive],
];

export const app = { state: null, project: null, step: "table", look: null, following: [] };

export const settings = () => app.project.settings;

export async function keep(changes) {
  const kept = { ...settings(), ...changes };
  for (const [name, value] of Object.entries(kept)) if (value === null || value === "") delete kept[name];
  app.project.settings = await ask("PUT", inProject(app.project.name, "/settings"), kept);
}

// Options of reading that every command takes, as they were chosen in the first step.
const READING = ["target", "ignore", "id", "text", "sep", "decimal", "thousands", "transposed",
  "no-header", "format", "missing", "categorical", "samples", "labels"];
const OF_ROWS = ["group", "split", "time"];

export function readingOptions(command) {
  const known = app.state.commands[command] || [];
  const names = command === "compare" ? [...READING, ...OF_ROWS] : [...READING, "group"];
  return Object.fromEntries(names.filter((name) => known.includes(name) && settings()[name] !== undefined)
    .map((name) => [name, settings()[name]]));
}

export function showSame(same) {
  const parts = [["In a shell", same.shell], ["In Python", same.python]].filter(([, text]) => text);
  byId("same-text").replaceChildren(...parts.map(([title, text]) => make("figure", {},
    make("figcaption", {}, title, " ",
      make("button", { type: "button", onclick: (event) => copy(event.target, text) }, "Copy")),
    make("pre", {}, make("code", {}, text)))));
}

async function copy(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    const code = button.closest("figure").querySelector("code");
    getSelection().selectAllChildren(code);
    button.textContent = "Selected";
  }
}

// The command of what is chosen now; asked for at each change, the last answer counts.
let asked = 0;
export async function previewSame(command, args, options) {
  asked += 1;
  const mine = asked;
  try {
    const same = await post("api/command", { command, arguments: args, options });
    if (mine === asked) showSame(same);
  } catch (error) {
    if (mine === asked) showSame({ shell: error.message });
  }
}

export async function refreshProject() {
  if (app.project) app.project = await get(inProject(app.project.name));
}

export async function openProject(name) {
  app.project = await get(inProject(name));
  app.look = null;
  await go(settings().source ? app.step : "table");
  showProjects();
}

export async function makeProject(name) {
  const made = await post("api/projects", { name });
  app.state.projects.unshift(made.name);
  app.project = await get(inProject(made.name));
  app.look = null;
  showProjects();
}

export async function uploadFile(file) {
  if (file.size > app.state.max_upload * 1e6) {
    throw new Error(`${file.name} has more than ${app.state.max_upload} MB. Type its path instead.`);
  }
  await ask("PUT", fileAddress(app.project.name, file.name), file);
  await refreshProject();
  return file.name;
}

export const downloadLink = (file) => make("p", {}, make("a", { class: "button",
  href: `${fileAddress(app.project.name, file)}?save`, download: "" }, `Download ${file}`));

export async function go(step) {
  for (const events of app.following.splice(0)) events.close();
  app.step = step;
  const address = `#${app.project ? encodeURIComponent(app.project.name) : ""}/${step}`;
  if (location.hash !== address) history.pushState(null, "", address);
  showSteps();
  const node = byId("step");
  node.replaceChildren();
  byId("same-text").replaceChildren();
  await attempt(node, () => STEPS.find(([key]) => key === step)[2](node));
}

function showSteps() {
  byId("steps").replaceChildren(...STEPS.map(([key, title], i) => make("button", {
    type: "button", "aria-current": key === app.step ? "step" : null,
    disabled: key !== "table" && key !== "live" && !(app.project && settings().source),
    onclick: () => go(key),
  }, `${i + 1} ${title}`)));
}

export function showProjects() {
  const select = byId("project");
  select.replaceChildren(...app.state.projects.map((name) => make("option", { value: name }, name)));
  select.parentElement.hidden = !app.state.projects.length;
  if (app.project) select.value = app.project.name;
  byId("foot").textContent = `Version ${app.state.version}. Everything stays in ${app.state.folder}.`;
}

async function follow() {
  const [name, step] = location.hash.slice(1).split("/").map(decodeURIComponent);
  app.step = STEPS.some(([key]) => key === step) ? step : "table";
  const known = app.state.projects.includes(name) ? name : app.state.projects[0];
  if (known && (!app.project || app.project.name !== known)) await openProject(known);
  else await go(app.step);
}

async function start() {
  app.state = await get("api/state");
  byId("project").addEventListener("change", (event) => attempt(byId("step"), () => openProject(event.target.value)));
  byId("new-project").addEventListener("click", () => {
    app.project = null;
    app.look = null;
    attempt(byId("step"), () => go("table"));
  });
  addEventListener("popstate", () => attempt(byId("step"), follow));
  showProjects();
  await follow();
  document.documentElement.dataset.ready = "yes";
}
attempt(byId("step"), start);
