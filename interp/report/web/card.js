// The card of a head: over all items, and on one of them.

const ROLES = {
  source: "source",
  distractor: "distractor",
  query: "query",
  special: "sink",
  others: "",
};

function fact(name, value, more) {
  const dd = make("dd", {}, value);
  if (more) dd.append(make("small", {}, more));
  return make("div", {}, make("dt", {}, name), dd);
}

const bounds = ([, low, high], written) =>
  low === null ? "" : `${written(low)} to ${written(high)}`;

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
    facts.push(
      fact(
        `effect ${tier.name}`,
        percent(tier.values[head][0], 1),
        bounds(tier.values[head], percent) + p,
      ),
    );
  }
  return [
    make(
      "h3",
      {},
      `${label[head]} `,
      make(
        "small",
        {},
        make("i", { style: { background: data.colours[verdict[head]] || "#999" } }),
        verdict[head],
      ),
    ),
    ...told[head].map((sentence) =>
      make("p", {}, sentence.endsWith(".") ? sentence : `${sentence}.`),
    ),
    make("dl", { class: "facts" }, ...facts),
    make(
      "p",
      { class: "note" },
      `Over all items; effects are shares of the gap, intervals are 95 %, and p-values are adjusted over ${label.length} heads (max-T).`,
    ),
  ];
}

function tokenElement(token) {
  return make("bdi", { class: token.roles.join(" ") }, token.text);
}

// Tokens in a row, with a mark where some are left out between two of them.
function inPlace(tokens) {
  return tokens.flatMap((token, i) =>
    i > 0 && token.at > tokens[i - 1].at + 1
      ? [" … ", tokenElement(token)]
      : [tokenElement(token)],
  );
}

function itemCard(view) {
  const { data, head } = view;
  const item = data.items[view.item];
  if (!item) return [];
  return [
    make(
      "p",
      { class: "prompt" },
      ...inPlace(item.tokens.filter((token) => token.at !== null)),
      " → ",
      make("bdi", {}, item.answer),
      ", not ",
      make("bdi", {}, item.foil),
    ),
    make("h4", {}, "What it looks at, from the query"),
    make("div", { class: "scroll" }, attentionTable(item, head)),
    make("h4", {}, "What removing it does to the answer"),
    make("div", { class: "scroll" }, outcomeTable(data, item, head)),
  ];
}

function attentionTable(item, head) {
  const n = item.tokens.length;
  const of = (name) =>
    item[name].length
      ? item[name].slice(head * n, (head + 1) * n).map((v) => (v === null ? null : v / 1000))
      : null;
  const raw = of("raw"),
    norm = of("norm_share"),
    projected = of("projected");
  const isSink = item.tokens.map((token) => token.roles.includes("special"));
  const left = 1 - raw.reduce((sum, value, i) => sum + (isSink[i] ? value : 0), 0);
  const hidden = raw.map((value, i) => (isSink[i] || left < 0.001 ? null : value / left));
  const total = raw.reduce((sum, value) => sum + value, 0);
  const size = projected ? Math.max(...projected.map((value) => Math.abs(value ?? 0)), 0.001) : 1;
  const columns = [
    [
      "raw",
      total < 0.98 ? `probability; ${number(1 - total)} goes to no token` : "probability",
      raw,
      [0, 1],
    ],
    ["sink hidden", "share of the rest", hidden, [0, 1]],
    ["norm-based", "share of the length of what arrives", norm, [0, 1]],
    [
      "value-projected",
      projected ? "logits, answer less foil" : "undefined: heads do not add up to the logits",
      projected,
      [-size, size],
    ],
  ];
  const rows = item.tokens.map((token, i) =>
    make(
      "tr",
      { class: token.roles.join(" ") },
      make(
        "th",
        { scope: "row" },
        tokenElement(token),
        make(
          "small",
          {},
          token.roles
            .map((role) => ROLES[role])
            .filter(Boolean)
            .join(", "),
        ),
      ),
      ...columns.map(([, , values, ends]) =>
        make("td", { class: "bar" }, bar(values ? values[i] : null, ends)),
      ),
    ),
  );
  return make(
    "table",
    { class: "attention" },
    make(
      "thead",
      {},
      make(
        "tr",
        {},
        make("th", { scope: "col" }, "token"),
        ...columns.map(([name, unit]) =>
          make("th", { scope: "col" }, name, make("small", {}, unit)),
        ),
      ),
    ),
    make("tbody", {}, ...rows),
  );
}

function bar(value, [low, high]) {
  const track = make("span", {});
  const place = (at) => (100 * (at - low)) / (high - low);
  if (value !== null) {
    const [from, to] = [Math.min(0, value), Math.max(0, value)].map(place);
    track.append(
      make("i", {
        class: value < 0 ? "negative" : "",
        style: { left: `${from}%`, width: `${to - from}%` },
      }),
    );
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
  const low = Math.min(...all),
    high = Math.max(...all),
    pad = 0.04 * (high - low || 1);
  const place = (value) => `${(100 * (value - low + pad)) / (high - low + 2 * pad)}%`;
  const gap = item.intact - item.corrupt;
  const unit =
    data.metric === "logit_difference"
      ? "logit of the answer less that of the foil"
      : data.metric.replaceAll("_", " ");
  return make(
    "table",
    { class: "outcome" },
    make(
      "thead",
      {},
      make(
        "tr",
        {},
        make("th", { scope: "col" }, ""),
        make("th", { scope: "col" }, unit, make("small", {}, "the tick is 0")),
        ...["value", "lost", "of this item's gap"].map((name) =>
          make("th", { scope: "col", class: "figures" }, name),
        ),
      ),
    ),
    make(
      "tbody",
      {},
      ...rows.map(([name, value, effect]) => {
        const [from, to] = [Math.min(value, item.intact), Math.max(value, item.intact)];
        const track = make(
          "span",
          {},
          make("i", { class: "zero", style: { left: place(0), top: "0", bottom: "0" } }),
          make("i", {
            class: value < item.intact ? "" : "negative",
            style: { left: place(from), width: `calc(${place(to)} - ${place(from)})` },
          }),
          make("i", { class: "dot", style: { left: place(value) } }),
        );
        return make(
          "tr",
          {},
          make("th", { scope: "row" }, name),
          make("td", { class: "line" }, make("div", { class: "track" }, track)),
          make("td", { class: "figures" }, number(value)),
          make("td", { class: "figures" }, effect === null ? "" : number(effect)),
          make(
            "td",
            { class: "figures" },
            effect === null || gap === 0 ? "" : percent(effect / gap, 1),
          ),
        );
      }),
    ),
  );
}
