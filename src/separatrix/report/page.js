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
