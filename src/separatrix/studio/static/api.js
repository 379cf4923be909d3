// Requests to the server of this page, and elements made of plain data. Text is always set as
// text, never as HTML.

export const byId = (id) => document.getElementById(id);

export function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked" || key === "disabled") node[key] = value;
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export const percent = (share) => `${(100 * share).toFixed(1)}\u00a0%`;

export function say(text) {
  byId("live").textContent = text;
}

export async function ask(method, path, body) {
  const options = { method, headers: {} };
  if (body instanceof Blob) options.body = body;
  else if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["content-type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The studio does not answer. Was it stopped? Start it again and reload this page.");
  }
  let data = {};
  try {
    data = await answer.json();
  } catch {
    if (answer.ok) throw new Error("The studio gave an answer that is not JSON.");
  }
  if (!answer.ok) throw new Error(data.error || `The studio refused: ${answer.status}`);
  return data;
}

export const get = (path) => ask("GET", path);
export const post = (path, body = {}) => ask("POST", path, body);

// What a project is asked: paths below its own address.
export const inProject = (name, path = "") =>
  `api/projects/${encodeURIComponent(name)}${path}`;
export const fileAddress = (name, file) =>
  inProject(name, `/files/${file.split("/").map(encodeURIComponent).join("/")}`);

// A node that shows an error of an action where it was asked for.
export function caution(error) {
  return make("p", { class: "caution", role: "alert" }, error.message || String(error));
}

export async function attempt(place, action) {
  place.querySelectorAll(":scope > .caution").forEach((node) => node.remove());
  try {
    return await action();
  } catch (error) {
    place.prepend(caution(error));
    return null;
  }
}

export function field(label, control, hint) {
  return make("label", { class: "field" }, make("span", {}, label), control,
    hint ? make("small", {}, hint) : null);
}

export function choose(label, options, value, change) {
  const select = make("select", { "aria-label": label, onchange: () => change(select.value) },
    ...options.map((option) => (Array.isArray(option)
      ? make("option", { value: option[0] }, option[1])
      : make("option", { value: option }, option))));
  select.value = value;
  return select;
}

export function table(names, rows, attributes = {}) {
  return make("div", { class: "scroll", tabindex: "0" }, make("table", attributes,
    make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...rows.map((row) =>
      make("tr", {}, ...row.map((cell) => make("td", {}, cell)))))));
}

// Any JSON as tables and lines, for results without a picture.
export function outline(value, depth = 0) {
  if (value === null || value === undefined) return make("span", { class: "soft" }, "–");
  if (typeof value === "number") return make("span", {}, String(Number(value.toPrecision(6))));
  if (typeof value !== "object") return make("span", {}, String(value));
  if (Array.isArray(value)) {
    if (value.every((item) => item === null || typeof item !== "object")) {
      const shown = value.slice(0, 30).map((item) =>
        (typeof item === "number" ? Number(item.toPrecision(5)) : item));
      return make("span", {}, shown.join(", ") + (value.length > 30 ? " …" : ""));
    }
    const names = [...new Set(value.flatMap((item) => Object.keys(item || {})))].slice(0, 9);
    return table(names, value.slice(0, 200).map((item) =>
      names.map((name) => outline((item || {})[name], depth + 1))));
  }
  const rows = Object.entries(value).map(([name, item]) => make("tr", {},
    make("th", { scope: "row" }, name.replaceAll("_", " ")), make("td", {}, outline(item, depth + 1))));
  return make("table", { class: "facts" }, make("tbody", {}, ...rows));
}
