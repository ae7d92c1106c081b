// The interactive part of a page: a head is chosen from grid, scatter, list or link, an item from a
// list, and their card is drawn. Nothing is loaded, and text is only ever set as text.
(() => {
  "use strict";

  const ROLES = {
    source: "source", distractor: "distractor", query: "query", special: "sink", others: "",
  };
  const LOW = [35, 105, 189], MIDDLE = [248, 246, 244], HIGH = [169, 55, 59];

  // ---- writing

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

  function colour(value, limit) {
    const share = Math.max(-1, Math.min(1, value / limit));
    const end = share < 0 ? LOW : HIGH;
    const mix = MIDDLE.map((from, i) => Math.round(from + Math.abs(share) * (end[i] - from)));
    return `rgb(${mix.join(",")})`;
  }

  const tickStep = (n) => [1, 2, 5, 10, 20, 50, 100].find((step) => n <= 12 * step);

  // ---- pickers: each is one stop of the keyboard, in which arrows move

  function picker(title, box, parts, name) {
    box.setAttribute("role", "listbox");
    box.setAttribute("tabindex", "0");
    box.setAttribute("aria-label", `${title}. Arrow keys choose a head.`);
    return make("figure", { class: name }, make("figcaption", {}, title), make("div", { class: "frame" }, ...parts));
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
      if (last) last.classList.remove("chosen"), last.setAttribute("aria-selected", "false");
      last = options[head];
      if (!last) return;
      last.classList.add("chosen");
      last.setAttribute("aria-selected", "true");
      box.setAttribute("aria-activedescendant", last.id);
    });
  }

  function option(view, kind, head, tip, style) {
    return make("div", {
      id: `${view.id}-${kind}-${head}`, role: "option", "aria-selected": "false",
      "aria-label": tip, title: tip, style,
    });
  }

  function ticks(numbers, across) {
    const step = tickStep(numbers.length);
    const place = across ? "gridColumn" : "gridRow";
    const track = `repeat(${numbers.length}, 1fr)`;
    const shown = numbers.map((text, i) => [text, i]).filter(([, i]) => i % step === 0);
    return make(
      "div",
      { class: across ? "ticks across" : "ticks", "aria-hidden": "true", style: across ? { gridTemplateColumns: track } : { gridTemplateRows: track } },
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
        gridRow: String(layers.indexOf(layer[i]) + 1), gridColumn: String(columns.indexOf(head[i]) + 1),
      });
      if (value === null) cell.classList.add("undefined");
      else cell.style.background = colour(value, limit);
      return cell;
    });
    const box = make("div", { class: "cells", style: {
      gridTemplateColumns: `repeat(${columns.length}, 1fr)`, gridTemplateRows: `repeat(${layers.length}, 1fr)`,
    } }, ...cells);
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    listen(box, cells, view, (key, now) => {
      if (key === "Home") return 0;
      if (key === "End") return label.length - 1;
      const step = steps[key];
      return step && (at.get(`${layer[now] + step[0]},${head[now] + step[1]}`) ?? now);
    });
    return picker(title, box, [ticks(layers, false), box, make("span", {}), ticks(columns, true), make("span", { class: "under" }, "layer ↓  head →")], "picker");
  }

  function scatter(view, x, y, xTitle, yTitle) {
    const { label, verdict } = view.data.heads;
    const drawn = label.map((_, i) => i).filter((i) => x[i][0] !== null && y[i][0] !== null);
    const span = (pairs, more) => {
      const all = drawn.flatMap((i) => pairs[i].filter((end) => end !== null)).concat(more);
      const low = Math.min(...all), high = Math.max(...all), pad = 0.05 * (high - low || 1);
      return [low - pad, high + pad];
    };
    const matters = view.data.matters;
    const [left, right] = span(x, [0]), [bottom, top] = span(y, [-matters, matters]);
    const across = (value) => `${(100 * (value - left)) / (right - left)}%`;
    const up = (value) => `${(100 * (value - bottom)) / (top - bottom)}%`;
    const dots = label.map((name, i) => {
      if (!drawn.includes(i)) return null;
      const tip = `${name}, ${verdict[i]}: attention ${number(x[i][0])}, effect ${percent(y[i][0], 1)}`;
      return option(view, "dot", i, tip, {
        left: across(x[i][0]), bottom: up(y[i][0]), background: view.data.colours[verdict[i]] || "#999",
      });
    });
    const line = (style, name = "") => make("i", { class: name, style });
    const whiskers = [make("div", { class: "whisker" }), make("div", { class: "whisker" })];
    // the verdicts that stand out are drawn last, on top
    const order = Object.keys(view.data.colours).reverse();
    const sorted = drawn.slice().sort((a, b) => order.indexOf(verdict[a]) - order.indexOf(verdict[b]));
    const box = make("div", { class: "scatter" },
      line({ left: "0", right: "0", height: "1px", bottom: up(0) }),
      line({ top: "0", bottom: "0", width: "1px", left: across(0) }),
      ...[matters, -matters].map((size) => line({ left: "0", right: "0", height: "1px", bottom: up(size) }, "dashed")),
      ...whiskers, ...sorted.map((i) => dots[i]));
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
      const [value, low, high] = x[head], [effect, least, most] = y[head];
      const bars = [
        [one, { left: across(low ?? value), width: `calc(${across(high ?? value)} - ${across(low ?? value)})`, bottom: up(effect), height: "1.5px", margin: "0", borderRadius: "0", border: "0" }],
        [other, { left: across(value), bottom: up(least ?? effect), height: `calc(${up(most ?? effect)} - ${up(least ?? effect)})`, width: "1.5px", margin: "0", borderRadius: "0", border: "0" }],
      ];
      for (const [whisker, style] of bars) Object.assign(whisker.style, style);
    });
    box.style.overflow = "hidden";
    const steps = 4;
    const yTicks = make("div", { class: "ticks", "aria-hidden": "true", style: { position: "relative", width: "2.6rem" } },
      ...nice(bottom, top, steps).map((value) => make("span", { style: { position: "absolute", right: "0", bottom: up(value) } }, percent(value))));
    const xTicks = make("div", { class: "ticks across", "aria-hidden": "true", style: { position: "relative", height: "0.8rem" } },
      ...nice(left, right, steps).map((value) => make("span", { style: { position: "absolute", left: across(value) } }, number(value))));
    return picker(`${yTitle}, against ${xTitle}`, box, [yTicks, box, make("span", {}), xTicks, make("span", { class: "under" }, `attention: ${xTitle}`)], "picker wide");
  }

  function nice(low, high, n) {
    const rough = (high - low) / n, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((each) => each >= rough);
    const found = [];
    for (let value = Math.ceil(low / step) * step; value <= high; value += step) found.push(value);
    return found;
  }

  // ---- the card of a head

  function fact(name, value, more) {
    const dd = make("dd", {}, value);
    if (more) dd.append(make("small", {}, more));
    return make("div", {}, make("dt", {}, name), dd);
  }

  const bounds = ([, low, high], written) => (low === null ? "" : `${written(low)} to ${written(high)}`);

  function headCard(view) {
    const { data, head } = view;
    const { label, verdict, told } = data.heads;
    const facts = [];
    if (data.attention) {
      const { name, values, raw, sink } = data.attention;
      facts.push(fact(name, number(values[head][0]), bounds(values[head], number)));
      if (name !== "raw attention") facts.push(fact("raw attention", number(raw[head]), ""));
      facts.push(fact("attention to the sink", number(sink[head]), ""));
    }
    for (const tier of Object.values(data.tiers)) {
      const p = tier.p[head] === null ? "" : `; ${pValue(tier.p[head])}`;
      facts.push(fact(`effect ${tier.name}`, percent(tier.values[head][0], 1), bounds(tier.values[head], percent) + p));
    }
    return [
      make("h3", {}, `${label[head]} `, make("small", {}, make("i", { style: { background: data.colours[verdict[head]] || "#999" } }), verdict[head])),
      ...told[head].map((sentence) => make("p", {}, sentence.endsWith(".") ? sentence : `${sentence}.`)),
      make("dl", { class: "facts" }, ...facts),
      make("p", { class: "note" }, `Over all items; effects are shares of the gap, intervals are 95 %, and p-values are adjusted over ${label.length} heads (max-T).`),
    ];
  }

  // ---- one item

  function tokenElement(token) {
    return make("bdi", { class: token.roles.join(" ") }, token.text);
  }

  function itemCard(view) {
    const { data, head } = view;
    const item = data.items[view.item];
    if (!item) return [];
    return [
      make("p", { class: "prompt" }, ...item.tokens.filter((token) => token.at !== null).map(tokenElement), " → ", make("bdi", {}, item.answer), ", not ", make("bdi", {}, item.foil)),
      make("h4", {}, "What it looks at, from the query"),
      make("div", { class: "scroll" }, attentionTable(item, head)),
      make("h4", {}, "What removing it does to the answer"),
      make("div", { class: "scroll" }, outcomeTable(data, item, head)),
    ];
  }

  function attentionTable(item, head) {
    const n = item.tokens.length;
    const of = (name) => (item[name].length ? item[name].slice(head * n, (head + 1) * n).map((v) => (v === null ? null : v / 1000)) : null);
    const raw = of("raw"), norm = of("norm_share"), projected = of("projected");
    const isSink = item.tokens.map((token) => token.roles.includes("special"));
    const left = 1 - raw.reduce((sum, value, i) => sum + (isSink[i] ? value : 0), 0);
    const hidden = raw.map((value, i) => (isSink[i] || left < 0.001 ? null : value / left));
    const total = raw.reduce((sum, value) => sum + value, 0);
    const size = projected ? Math.max(...projected.map((value) => Math.abs(value ?? 0)), 0.001) : 1;
    const columns = [
      ["raw", total < 0.98 ? `probability; ${number(1 - total)} goes to no token` : "probability", raw, [0, 1]],
      ["sink hidden", "share of the rest", hidden, [0, 1]],
      ["norm-based", "share of the length of what arrives", norm, [0, 1]],
      ["value-projected", projected ? "logits, answer less foil" : "undefined: heads do not add up to the logits", projected, [-size, size]],
    ];
    const rows = item.tokens.map((token, i) => make("tr", { class: token.roles.join(" ") },
      make("th", { scope: "row" }, tokenElement(token), make("small", {}, token.roles.map((role) => ROLES[role]).filter(Boolean).join(", "))),
      ...columns.map(([, , values, ends]) => make("td", { class: "bar" }, bar(values ? values[i] : null, ends)))));
    return make("table", { class: "attention" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "token"),
        ...columns.map(([name, unit]) => make("th", { scope: "col" }, name, make("small", {}, unit))))),
      make("tbody", {}, ...rows));
  }

  function bar(value, [low, high]) {
    const track = make("span", {});
    const place = (at) => (100 * (at - low)) / (high - low);
    if (value !== null) {
      const [from, to] = [Math.min(0, value), Math.max(0, value)].map(place);
      track.append(make("i", { class: value < 0 ? "negative" : "", style: { left: `${from}%`, width: `${to - from}%` } }));
    }
    if (low < 0) track.append(make("i", { class: "zero", style: { left: `${place(0)}%` } }));
    return make("div", { class: "track" }, track, make("b", {}, number(value)));
  }

  function outcomeTable(data, item, head) {
    const rows = [["as it is", item.intact, null]];
    for (const [tier, { name }] of Object.entries(data.tiers)) {
      const effect = item.effects[tier] ? item.effects[tier][head] : null;
      if (effect !== null) rows.push([`without it ${name}`, item.intact - effect, effect]);
    }
    rows.push(["the counterfactual", item.corrupt, null]);
    const all = rows.map(([, value]) => value).concat([0]);
    const low = Math.min(...all), high = Math.max(...all), pad = 0.04 * (high - low || 1);
    const place = (value) => `${(100 * (value - low + pad)) / (high - low + 2 * pad)}%`;
    const gap = item.intact - item.corrupt;
    const unit = data.metric === "logit_difference" ? "logit of the answer less that of the foil" : data.metric.replaceAll("_", " ");
    return make("table", { class: "outcome" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, ""), make("th", { scope: "col" }, unit, make("small", {}, "the tick is 0")),
        ...["value", "lost", "of this item's gap"].map((name) => make("th", { scope: "col", class: "figures" }, name)))),
      make("tbody", {}, ...rows.map(([name, value, effect]) => {
        const [from, to] = [Math.min(value, item.intact), Math.max(value, item.intact)];
        const track = make("span", {},
          make("i", { class: "zero", style: { left: place(0), top: "0", bottom: "0" } }),
          make("i", { class: value < item.intact ? "" : "negative", style: { left: place(from), width: `calc(${place(to)} - ${place(from)})` } }),
          make("i", { class: "dot", style: { left: place(value) } }));
        return make("tr", {}, make("th", { scope: "row" }, name),
          make("td", { class: "line" }, make("div", { class: "track" }, track)),
          make("td", { class: "figures" }, number(value)),
          make("td", { class: "figures" }, effect === null ? "" : number(effect)),
          make("td", { class: "figures" }, effect === null || gap === 0 ? "" : percent(effect / gap, 1)));
      })));
  }

  // ---- all of it

  function select(name, texts, choose) {
    const box = make("select", {}, ...texts.map((text, i) => make("option", { value: String(i) }, text)));
    box.addEventListener("change", () => choose(Number(box.value)));
    return [make("label", {}, name, box), box];
  }

  function mount(host, id) {
    const data = JSON.parse(host.querySelector("script").textContent);
    const { label, verdict } = data.heads;
    const ofHead = make("div", { "aria-live": "polite" }), ofItem = make("div", { class: "item" });
    const view = { id, data, head: data.first, item: 0, pickers: [] };
    const [headLabel, headBox] = select("head", label.map((name, i) => `${name}: ${verdict[i]}`), (i) => view.chooseHead(i));
    const names = data.items.map((item) => `${item.template}, ${item.id}`);
    const [itemLabel] = select("item", names, (i) => view.chooseItem(i));
    view.chooseHead = (head) => {
      view.head = head;
      headBox.value = String(head);
      for (const redraw of view.pickers) redraw(head);
      ofHead.replaceChildren(...headCard(view));
      ofItem.replaceChildren(...itemCard(view));
    };
    view.chooseItem = (item) => {
      view.item = item;
      ofItem.replaceChildren(...itemCard(view));
    };
    const pickers = [];
    const { attention, tiers, finest } = data;
    if (attention) pickers.push(grid(view, `Attention: ${attention.kind}`, "attention", attention.values.map(([value]) => value), attention.limit, (value) => number(value)));
    pickers.push(grid(view, "Effect at the query", "effect", tiers.query.values.map(([value]) => value), tiers.query.limit, (value) => percent(value, 1)));
    if (attention) pickers.push(scatter(view, attention.values, tiers[finest].values, attention.kind, `Effect ${tiers[finest].name}`));
    const used = Object.keys(data.colours).filter((name) => verdict.includes(name));
    host.append(
      make("div", { class: "pickers" }, ...pickers),
      make("ul", { class: "keys" }, ...used.map((name) => make("li", {}, make("i", { style: { background: data.colours[name] } }), name))),
      make("div", { class: "card" }, make("div", { class: "choices" }, headLabel, ...(data.items.length ? [itemLabel] : [])), ofHead, ...(data.items.length ? [ofItem] : [])),
    );
    const follow = (scroll) => {
      const asked = label.indexOf(decodeURIComponent(location.hash.slice(1)));
      if (asked < 0) return;
      view.chooseHead(asked);
      if (scroll) host.scrollIntoView();
    };
    view.chooseHead(view.head);
    follow(true);
    window.addEventListener("hashchange", () => follow(true));
  }

  document.querySelectorAll(".explorer").forEach((host, i) => {
    if (host.dataset.drawn) return;
    host.dataset.drawn = "yes";
    mount(host, `heads${i}`);
  });
})();
