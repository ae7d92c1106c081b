// The picker in which heads lie by attention and effect.

function scatter(view, x, y, xTitle, yTitle) {
  const { label, verdict } = view.data.heads;
  const drawn = label.map((_, i) => i).filter((i) => x[i][0] !== null && y[i][0] !== null);
  const span = (pairs, more) => {
    const all = drawn.flatMap((i) => pairs[i].filter((end) => end !== null)).concat(more);
    const low = Math.min(...all),
      high = Math.max(...all),
      pad = 0.05 * (high - low || 1);
    return [low - pad, high + pad];
  };
  const matters = view.data.matters;
  const [left, right] = span(x, [0]),
    [bottom, top] = span(y, [-matters, matters]);
  const across = (value) => `${(100 * (value - left)) / (right - left)}%`;
  const up = (value) => `${(100 * (value - bottom)) / (top - bottom)}%`;
  const dots = label.map((name, i) => {
    if (!drawn.includes(i)) return null;
    const tip = `${name}, ${verdict[i]}: attention ${number(x[i][0])}, effect ${percent(y[i][0], 1)}`;
    return option(view, "dot", i, tip, {
      left: across(x[i][0]),
      bottom: up(y[i][0]),
      background: view.data.colours[verdict[i]] || "#999",
    });
  });
  const line = (style, name = "") => make("i", { class: name, style });
  const whiskers = [make("div", { class: "whisker" }), make("div", { class: "whisker" })];
  // the verdicts that stand out are drawn last, on top
  const order = Object.keys(view.data.colours).reverse();
  const sorted = drawn
    .slice()
    .sort((a, b) => order.indexOf(verdict[a]) - order.indexOf(verdict[b]));
  const box = make(
    "div",
    { class: "scatter" },
    line({ left: "0", right: "0", height: "1px", bottom: up(0) }),
    line({ top: "0", bottom: "0", width: "1px", left: across(0) }),
    ...[matters, -matters].map((size) =>
      line({ left: "0", right: "0", height: "1px", bottom: up(size) }, "dashed"),
    ),
    ...whiskers,
    ...sorted.map((i) => dots[i]),
  );
  const along = (pairs) => drawn.slice().sort((a, b) => pairs[a][0] - pairs[b][0]);
  const orders = [along(x), along(y)];
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowDown: [1, -1], ArrowUp: [1, 1] };
  listen(box, dots, view, (key, now) => {
    const step = moves[key];
    if (!step) return undefined;
    const ranked = orders[step[0]];
    const place = ranked.indexOf(now) + step[1];
    return ranked[Math.max(0, Math.min(ranked.length - 1, place))];
  });
  view.pickers.push((head) => {
    const isDrawn = dots[head] !== null;
    const [one, other] = whiskers;
    for (const whisker of whiskers) whisker.style.display = isDrawn ? "" : "none";
    if (!isDrawn) return;
    const [value, low, high] = x[head],
      [effect, least, most] = y[head];
    const bars = [
      [
        one,
        {
          left: across(low ?? value),
          width: `calc(${across(high ?? value)} - ${across(low ?? value)})`,
          bottom: up(effect),
          height: "1.5px",
          margin: "0",
          borderRadius: "0",
          border: "0",
        },
      ],
      [
        other,
        {
          left: across(value),
          bottom: up(least ?? effect),
          height: `calc(${up(most ?? effect)} - ${up(least ?? effect)})`,
          width: "1.5px",
          margin: "0",
          borderRadius: "0",
          border: "0",
        },
      ],
    ];
    for (const [whisker, style] of bars) Object.assign(whisker.style, style);
  });
  box.style.overflow = "hidden";
  const steps = 4;
  const yTicks = make(
    "div",
    { class: "ticks", "aria-hidden": "true", style: { position: "relative", width: "2.6rem" } },
    ...nice(bottom, top, steps).map((value) =>
      make(
        "span",
        { style: { position: "absolute", right: "0", bottom: up(value) } },
        percent(value),
      ),
    ),
  );
  const xTicks = make(
    "div",
    {
      class: "ticks across",
      "aria-hidden": "true",
      style: { position: "relative", height: "0.8rem" },
    },
    ...nice(left, right, steps).map((value) =>
      make("span", { style: { position: "absolute", left: across(value) } }, number(value)),
    ),
  );
  return picker(
    `${yTitle}, against ${xTitle}`,
    box,
    [
      yTicks,
      box,
      make("span", {}),
      xTicks,
      make("span", { class: "under" }, `attention: ${xTitle}`),
    ],
    "picker wide",
  );
}

function nice(low, high, n) {
  const rough = (high - low) / n,
    power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((each) => each >= rough);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) found.push(value);
  return found;
}
