// Pickers of heads: each is one stop of the keyboard, in which arrows move. Here the grids.

function picker(title, box, parts, name) {
  box.setAttribute("role", "listbox");
  box.setAttribute("tabindex", "0");
  box.setAttribute("aria-label", `${title}. Arrow keys choose a head.`);
  return make(
    "figure",
    { class: name },
    make("figcaption", {}, title),
    make("div", { class: "frame" }, ...parts),
  );
}

function listen(box, options, view, move) {
  box.addEventListener("click", (event) => {
    const chosen = options.indexOf(event.target);
    if (chosen >= 0) view.chooseHead(chosen);
  });
  box.addEventListener("keydown", (event) => {
    const to = move(event.key, view.head);
    if (to === undefined) return;
    event.preventDefault();
    view.chooseHead(to);
  });
  let last = null;
  view.pickers.push((head) => {
    if (last) (last.classList.remove("chosen"), last.setAttribute("aria-selected", "false"));
    last = options[head];
    if (!last) return;
    last.classList.add("chosen");
    last.setAttribute("aria-selected", "true");
    box.setAttribute("aria-activedescendant", last.id);
  });
}

function option(view, kind, head, tip, style) {
  return make("div", {
    id: `${view.id}-${kind}-${head}`,
    role: "option",
    "aria-selected": "false",
    "aria-label": tip,
    title: tip,
    style,
  });
}

function ticks(numbers, across) {
  const step = tickStep(numbers.length);
  const place = across ? "gridColumn" : "gridRow";
  const track = `repeat(${numbers.length}, 1fr)`;
  const shown = numbers.map((text, i) => [text, i]).filter(([, i]) => i % step === 0);
  return make(
    "div",
    {
      class: across ? "ticks across" : "ticks",
      "aria-hidden": "true",
      style: across ? { gridTemplateColumns: track } : { gridTemplateRows: track },
    },
    ...shown.map(([text, i]) => make("span", { style: { [place]: String(i + 1) } }, String(text))),
  );
}

function grid(view, title, kind, values, limit, written) {
  const { layer, head, label } = view.data.heads;
  const layers = [...new Set(layer)].sort((a, b) => a - b);
  const columns = [...new Set(head)].sort((a, b) => a - b);
  const at = new Map(label.map((_, i) => [`${layer[i]},${head[i]}`, i]));
  const cells = label.map((name, i) => {
    const value = values[i];
    const tip = `${name}: ${written(value)}`;
    const cell = option(view, kind, i, tip, {
      gridRow: String(layers.indexOf(layer[i]) + 1),
      gridColumn: String(columns.indexOf(head[i]) + 1),
    });
    if (value === null) cell.classList.add("undefined");
    else cell.style.background = colour(value, limit);
    return cell;
  });
  const box = make(
    "div",
    {
      class: "cells",
      style: {
        gridTemplateColumns: `repeat(${columns.length}, 1fr)`,
        gridTemplateRows: `repeat(${layers.length}, 1fr)`,
      },
    },
    ...cells,
  );
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  listen(box, cells, view, (key, now) => {
    if (key === "Home") return 0;
    if (key === "End") return label.length - 1;
    const step = steps[key];
    return step && (at.get(`${layer[now] + step[0]},${head[now] + step[1]}`) ?? now);
  });
  return picker(
    title,
    box,
    [
      ticks(layers, false),
      box,
      make("span", {}),
      ticks(columns, true),
      make("span", { class: "under" }, "layer ↓  head →"),
    ],
    "picker",
  );
}
