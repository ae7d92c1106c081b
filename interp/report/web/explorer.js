// A head is chosen from grid, scatter, list or link, an item from a list; their card is drawn.

function select(name, texts, choose) {
  const box = make(
    "select",
    {},
    ...texts.map((text, i) => make("option", { value: String(i) }, text)),
  );
  box.addEventListener("change", () => choose(Number(box.value)));
  return [make("label", {}, name, box), box];
}

function mount(host, id) {
  const data = JSON.parse(host.querySelector("script").textContent);
  const { label, verdict } = data.heads;
  const ofHead = make("div", { "aria-live": "polite" }),
    ofItem = make("div", { class: "item" });
  const view = { id, data, head: data.first, item: 0, pickers: [] };
  const [headLabel, headBox] = select(
    "head",
    label.map((name, i) => `${name}: ${verdict[i]}`),
    (i) => view.chooseHead(i),
  );
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
  if (attention)
    pickers.push(
      grid(
        view,
        `Attention: ${attention.kind}`,
        "attention",
        attention.values.map(([value]) => value),
        attention.limit,
        (value) => number(value),
      ),
    );
  pickers.push(
    grid(
      view,
      "Effect at the query",
      "effect",
      tiers.query.values.map(([value]) => value),
      tiers.query.limit,
      (value) => percent(value, 1),
    ),
  );
  if (attention)
    pickers.push(
      scatter(
        view,
        attention.values,
        tiers[finest].values,
        attention.kind,
        `Effect ${tiers[finest].name}`,
      ),
    );
  const used = Object.keys(data.colours).filter((name) => verdict.includes(name));
  host.append(
    make("div", { class: "pickers" }, ...pickers),
    make(
      "ul",
      { class: "keys" },
      ...used.map((name) =>
        make("li", {}, make("i", { style: { background: data.colours[name] } }), name),
      ),
    ),
    make(
      "div",
      { class: "card" },
      make("div", { class: "choices" }, headLabel, ...(data.items.length ? [itemLabel] : [])),
      ofHead,
      ...(data.items.length ? [ofItem] : []),
    ),
  );
  const follow = (scroll) => {
    const asked = label.findIndex((name) => `#${encodeURIComponent(name)}` === location.hash);
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
