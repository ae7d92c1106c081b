// Numbers as text, and elements whose text is only ever set as text.

function number(value, digits = 2) {
  if (value === null || value === undefined) return "–";
  const text = Math.abs(value).toFixed(digits);
  return (value < 0 && Number(text) !== 0 ? "−" : "") + text;
}

const percent = (share, digits = 0) =>
  share === null || share === undefined ? "–" : `${number(100 * share, digits)}\u00a0%`;

const pValue = (p) => (p < 0.001 ? "p < 0.001" : `p = ${number(p, 3)}`);

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value);
  }
  element.append(...children); // strings become text nodes
  return element;
}

const LOW = [35, 105, 189],
  MIDDLE = [248, 246, 244],
  HIGH = [169, 55, 59];

function colour(value, limit) {
  const share = Math.max(-1, Math.min(1, value / limit));
  const end = share < 0 ? LOW : HIGH;
  const mix = MIDDLE.map((from, i) => Math.round(from + Math.abs(share) * (end[i] - from)));
  return `rgb(${mix.join(",")})`;
}

const tickStep = (n) => [1, 2, 5, 10, 20, 50, 100].find((step) => n <= 12 * step);
