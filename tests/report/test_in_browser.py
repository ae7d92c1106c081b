"""Pages in headless Chromium: they ask for nothing, and heads are chosen by mouse and keyboard."""

from statistics import median

import pytest

from interp.report import write_report
from interp.report.explorer import HeadsView, embedded
from interp.report.spelling import number, visible
from interp.store import Run
from tests.browser import Visit, chromium

from .example import TOKENS, example_run, examples, without_source

SECTIONS = [
    "Two heads",
    "Every head",
    "One head at a time",
    "The largest effects",
    "Where the two disagree",
    "Which measure tells which heads matter",
    "The behaviour",
    "The same heads without a task",
    "Methods",
    "Verdicts",
]
HOSTILE = [
    "<s>",
    "<0x0A>",
    "</script><b>x</b>",
    "\n",
    "\u200b",
    "\ud83d",
    "\xa0",
    "&amp;",
    "<img src=x onerror=alert(1)>",
    "\u202eabc",
    "\u2028",
    "{{ 7 * 7 }}",
    "<!--",
]


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """The page of as many heads as SmolLM2 has."""
    folder = tmp_path_factory.mktemp("large")
    write_report(example_run(30, 9), folder)
    return folder / "report.html"


@pytest.fixture
def visit(browser, large):
    opened = Visit(browser, large)
    yield opened
    opened.context.close()


def view(browser, run, folder) -> Visit:
    """The interactive part alone, which takes no figures to be drawn."""
    path = folder / "view.html"
    path.write_text(HeadsView(run).html(), encoding="utf-8")
    return Visit(browser, path)


def chosen(visit) -> str:
    """The head whose card is shown."""
    return visit.text(".explorer h3").split()[0]


def test_the_page_is_whole_with_the_network_off(visit, large):
    assert visit.texts("h2") == SECTIONS
    assert visit.complaints == []
    assert [url for url in visit.requests if not url.startswith("data:")] == [large.as_uri()]
    drawn = visit.page.evaluate(
        "[...document.images].every((image) => image.complete && image.naturalWidth > 0)"
    )
    assert drawn
    assert visit.texts(".explorer .picker figcaption") == [
        "Attention: CAS",
        "Effect at the query",
        "Effect on the edge, against CAS",
    ]


def test_a_head_is_chosen_with_the_mouse_in_grid_and_scatter(visit):
    visit.page.locator('.cells [aria-label^="L3H4:"]').first.click()
    assert chosen(visit) == "L3H4"
    visit.page.locator('.scatter [aria-label^="L29H8,"]').dispatch_event("click")
    assert chosen(visit) == "L29H8"
    marked = visit.page.locator(".explorer [aria-selected=true]")
    labels = marked.evaluate_all("all => all.map((each) => each.getAttribute('aria-label'))")
    assert [label[:6].rstrip(":,") for label in labels] == ["L29H8"] * 3


def test_a_head_is_chosen_from_tables_and_by_the_address(visit, browser, large):
    link = visit.page.locator("td a").last
    link.click()
    assert chosen(visit) == link.inner_text()
    other = Visit(browser, large, anchor="#L7H2")
    assert chosen(other) == "L7H2"
    other.context.close()


def test_heads_and_items_are_chosen_with_the_keyboard_alone(visit):
    page = visit.page
    for _ in range(100):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('role')") == "listbox":
            break
    page.keyboard.press("Home")
    assert chosen(visit) == "L0H0"
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowLeft", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    assert chosen(visit) == "L1H1"
    active = page.evaluate("document.activeElement.getAttribute('aria-activedescendant')")
    assert page.evaluate(f"document.getElementById('{active}').title").startswith("L1H1:")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert chosen(visit) == "L0H1", "the edge of the grid is no way out"
    page.keyboard.press("End")
    assert chosen(visit) == "L29H8"
    for _ in range(3):  # over the other grid and the scatter to the list of heads
        page.keyboard.press("Tab")
    page.keyboard.press("Home")
    assert chosen(visit) == "L0H0"
    page.keyboard.press("Tab")
    before = visit.text(".explorer .prompt")
    page.keyboard.press("ArrowDown")
    assert visit.text(".explorer .prompt") != before
    assert visit.complaints == []


def test_in_the_scatter_arrows_go_to_the_next_by_attention_and_by_effect(visit):
    heads = example_run(30, 9).tables["verdicts"]
    page = visit.page
    page.locator(".scatter").focus()
    for key, column, step in (
        ("ArrowRight", "cas", 1),
        ("ArrowLeft", "cas", -1),
        ("ArrowUp", "effect_edge", 1),
        ("ArrowDown", "effect_edge", -1),
    ):
        order = heads.sort_values(column, kind="stable")["label"].to_list()
        expected = order[min(order.index(chosen(visit)) + step, len(order) - 1)]
        page.keyboard.press(key)
        assert chosen(visit) == expected


def test_choosing_a_head_redraws_within_200_ms(visit):
    """From the click to the next frame that is drawn."""
    times = visit.page.evaluate(
        """async () => {
            const cells = document.querySelectorAll(".cells [role=option]");
            const times = [];
            for (let head = 5; head < 270; head += 29) {
                const start = performance.now();
                cells[head].click();
                document.body.getBoundingClientRect();
                await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
                times.push(performance.now() - start);
            }
            return times;
        }"""
    )
    assert len(times) == 10
    assert median(times) < 200


def test_the_four_views_are_those_of_the_tables(visit):
    """Second route: pandas over the table that the page was made from."""
    run = example_run(30, 9)
    rows = run.tables["example_attention"].query(
        "item_id == 'agreement.0000.b' and layer == 12 and head == 3"
    )
    visit.page.locator(".explorer .choices select").nth(0).select_option(value=str(12 * 9 + 3))
    visit.page.locator(".explorer .choices select").nth(1).select_option(index=1)
    cells = visit.texts(".explorer table.attention td")
    of_column = [cells[column::4] for column in range(4)]
    raw = rows["raw"].to_numpy()
    assert of_column[0] == [number(value) for value in raw.round(3)]
    hidden = raw.round(3)[1:] / (1 - raw.round(3)[0])
    assert of_column[1] == ["–", *map(number, hidden)]
    assert of_column[2] == [number(value) for value in rows["norm_share"].round(3)]
    assert of_column[3] == [number(value) for value in rows["projected"].round(3)]
    effects = run.tables["example_effects"].query(
        "item_id == 'agreement.0000.b' and layer == 12 and head == 3"
    )
    lost = visit.texts(".explorer table.outcome td:nth-of-type(3)")
    tiers = [f"effect_{tier}" for tier in ("everywhere", "query", "edge")]
    assert lost == ["", *map(number, effects[tiers].to_numpy()[0]), ""]
    values = visit.texts(".explorer table.outcome td:nth-of-type(2)")
    assert values[0] == "1.50"
    assert values[-1] == "−2.50"


def test_a_p_value_comes_with_the_number_of_heads_and_is_never_0(visit):
    visit.page.locator(".explorer select").first.select_option(index=269)
    card = visit.text(".explorer .card")
    assert "p-values are adjusted over 270 heads (max-T)" in card
    assert "p = 0.800" in card
    shown = example_run(30, 9).tables["verdicts"].nlargest(1, "effect_edge")["label"].iloc[0]
    visit.page.evaluate(f"location.hash = '#{shown}'")
    visit.page.wait_for_function(
        f"document.querySelector('.explorer h3').innerText.includes('{shown}')"
    )
    card = visit.text(".explorer .card")
    assert "p < 0.001" in card
    assert "p = 0.000" not in card


def test_hostile_tokens_are_text(browser, tmp_path):
    run = example_run(6, 12)
    tables = run.tables | examples(run.tables["verdicts"], HOSTILE)
    tables["verdicts"] = tables["verdicts"].assign(because="</script><b>x</b>")
    tables["examples"] = tables["examples"].assign(
        answer="</script><i>y</i>", template_id="<b>&amp;"
    )
    visit = view(browser, Run(settings=run.settings, tables=tables), tmp_path)
    rows = visit.page.locator(".explorer .attention tbody bdi")
    contents = rows.evaluate_all("all => all.map((each) => each.textContent)")
    assert contents == [visible(token) for token in HOSTILE]
    assert {"\\n", "\\u200b", "\\ud83d", "\\u202eabc", "\\u2028", "\\xa0"} <= set(contents)
    assert visit.page.locator(".explorer b", has_text="x").count() == 0
    assert visit.page.locator(".explorer bdi *, .explorer img, .explorer option *").count() == 0
    assert "→ </script><i>y</i>, not" in visit.text(".explorer .prompt")
    assert visit.complaints == []
    visit.context.close()


def test_layers_and_heads_stand_in_the_order_of_their_numbers(browser, tmp_path):
    run = example_run(12, 12)
    shuffled = run.tables["verdicts"].sample(frac=1, random_state=0)
    again = Run(settings=run.settings, tables=run.tables | {"verdicts": shuffled})
    visit = view(browser, again, tmp_path)
    names = [text.split(":")[0] for text in visit.texts(".explorer select >> nth=0 >> option")]
    assert names == [f"L{layer}H{head}" for layer in range(12) for head in range(12)]
    assert visit.texts(".explorer .ticks.across >> nth=0 >> span") == list(map(str, range(12)))
    visit.context.close()


def test_two_views_on_one_page_are_both_drawn(browser, tmp_path, run):
    """As in a notebook: each in a frame of its own; and as two elements of one page."""
    one = HeadsView(run)
    frames = tmp_path / "frames.html"
    frames.write_text(f"<!DOCTYPE html>{one._repr_html_()}{one._repr_html_()}")
    visit = Visit(browser, frames)
    for frame in visit.page.frames[1:]:
        assert frame.locator(".explorer h3").count() == 1
        assert frame.locator(".cells [role=option]").count() == 144
    assert len(visit.page.frames) == 3
    assert visit.complaints == []
    visit.context.close()

    together = tmp_path / "together.html"
    together.write_text(one.html() + one.html())
    visit = Visit(browser, together)
    assert visit.page.locator(".explorer h3").count() == 2
    visit.page.locator(".cells >> nth=0 >> [role=option] >> nth=7").click()
    first, second = visit.texts(".explorer h3")
    assert first.startswith("L0H7")
    assert not second.startswith("L0H7")
    ids = visit.page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(ids) == len(set(ids))
    visit.context.close()


def test_long_prompts_say_what_is_left_out(browser, tmp_path, run):
    tables = run.tables | examples(run.tables["verdicts"], left_out=93)
    long = Run(settings=run.settings, tables=tables)
    visit = view(browser, long, tmp_path)
    assert visit.texts(".explorer .attention tbody bdi")[-1] == "93 other tokens"
    assert f"Of prompts of more than {len(TOKENS)} tokens" in embedded(long)
    prompt = visit.text(".explorer .prompt")
    assert "93 other tokens" not in prompt
    assert prompt.count(" … ") == 1
    assert TOKENS[-1] in prompt.split(" … ")[1]
    visit.context.close()


def test_without_a_source_effects_are_chosen_from_alone(browser, tmp_path, run):
    visit = view(browser, without_source(run), tmp_path)
    assert visit.texts(".explorer .picker figcaption") == ["Effect at the query"]
    assert "CAS" not in visit.text(".explorer")
    assert visit.complaints == []
    visit.context.close()


def test_without_items_the_card_has_figures_of_all_of_them(browser, tmp_path, run):
    tables = {name: table for name, table in run.tables.items() if "example" not in name}
    bare = Run(settings=run.settings, tables=tables)
    visit = view(browser, bare, tmp_path)
    assert visit.page.locator(".explorer h3").count() == 1
    assert visit.page.locator(".explorer .attention").count() == 0
    assert embedded(bare).startswith("This run holds no single items")
    assert visit.complaints == []
    visit.context.close()


def test_a_page_that_ranks_no_heads_has_no_script(browser, failing_report):
    visit = Visit(browser, failing_report / "report.html")
    assert visit.page.locator("script").count() == 0
    assert visit.complaints == []
    visit.context.close()
