// A scatter of points, with a colour and a shape for each class.

import { make } from "./api.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 520, HEIGHT = 380, EDGE = 12;
export const N_COLOURS = 8;

function draw(name, attributes, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

const SHAPES = [
  (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
  (x, y, r) => `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`,
  (x, y, r) => `M${x} ${y - 1.2 * r}L${x + 1.2 * r} ${y + r}H${x - 1.2 * r}Z`,
  (x, y, r) => `M${x} ${y - 1.4 * r}L${x + 1.4 * r} ${y}L${x} ${y + 1.4 * r}L${x - 1.4 * r} ${y}Z`,
];

export function scatter({ x, y, codes, classes, names = [] }) {
  const range = (values) => [Math.min(...values), Math.max(...values)];
  const scale = (values, size) => {
    const [low, high] = range(values);
    return values.map((v) => EDGE + (high > low ? (v - low) / (high - low) : 0.5) * (size - 2 * EDGE));
  };
  const across = scale(x, WIDTH), down = scale(y.map((v) => -v), HEIGHT);
  const points = across.map((px, i) => draw("path", {
    d: SHAPES[Math.floor(codes[i] / N_COLOURS) % SHAPES.length](px, down[i], 3.5), class: `class${codes[i] % N_COLOURS}`,
  }, titled(`${names[i] ?? `row ${i + 1}`}: ${classes[codes[i]]}`)));
  const picture = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${x.length} rows of ${classes.length} classes in the plane` }, ...points);
  const legend = classes.map((name, c) => make("li", {}, draw("svg", { viewBox: "0 0 14 14", class: "mark", "aria-hidden": "true" },
    draw("path", { d: SHAPES[Math.floor(c / N_COLOURS) % SHAPES.length](7, 7, 5), class: `class${c % N_COLOURS}` })), ` ${name}`));
  return make("figure", { class: "scatter" }, picture, make("ul", { class: "legend" }, ...legend.slice(0, 40)));
}

function titled(text) {
  const title = document.createElementNS(SVG, "title");
  title.textContent = text;
  return title;
}
