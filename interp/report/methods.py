"""What a reader needs in order to judge or repeat a run: the methods statement of the page."""

from interp.report.spelling import counted, listed, number, scientific, unit
from interp.report.tidy import measured_tiers
from interp.store import Run

SCOPE_OF_CLAIMS = (
    "Head-level claims are relative to this prompt distribution, corruption and metric."
)
_OFF_THE_MANIFOLD = (
    "What is put in place of a head's output can bring the model into states that no text brings "
    "it into; what it does then is not what it does otherwise."
)


def methods(run: Run) -> dict[str, str]:
    """Each fact of the run under its name, in reading order."""
    settings = run.settings
    statement = {
        "Model": f"{settings['model']}, {settings['n_layers']} layers of {settings['n_heads']} "
        f"heads, {settings['dtype']}, weights {settings['model_hash']}, {settings['weights']}",
        "Prefix": settings["prefix"] or "none",
        "Items": f"{counted(settings['n_pairs'], 'pair')}, {counted(settings['n_items'], 'item')} "
        f"(preset {settings['preset']}, seed {settings['seed']})",
        "Metric": settings["metric"],
    }
    if "verdicts" in run.tables:
        statement |= _of_the_sweep(run)
    versions = [f"{name} {version}" for name, version in settings["versions"].items()]
    return statement | {"Versions": listed(versions)}


def _of_the_sweep(run: Run) -> dict[str, str]:
    settings = run.settings
    check, n_clusters = settings["check"], settings["n_clusters"]
    test = "sign flips by cluster, either way in turn" if len(n_clusters) == 2 else "bootstrap-t"
    verdicts = run.tables["verdicts"]
    n_tiers = len(measured_tiers(verdicts))
    return {
        "Removal": f"{settings['baseline']}: the head's output is exchanged for its output on the "
        "counterfactual prompt",
        "Gap": f"{number(settings['gap'])} {unit(settings['metric'])}, the mean of the metric on "
        "the prompts less its mean on their counterfactuals; effects are shares of it",
        "Clusters": " × ".join(map(str, n_clusters))
        + (", crossed" if len(n_clusters) == 2 else "")
        + "".join(f". {note[0].upper()}{note[1:]}" for note in settings["cautions"]),
        "Halves": _halves(*settings["n_items_in_halves"]),
        "Noise floor": f"{scientific(settings['noise_floor'])} {unit(settings['metric'])}",
        "Thresholds": listed([f"{name} {value}" for name, value in settings["thresholds"].items()]),
        "Tests": f"{counted(len(verdicts), 'head')} at {counted(n_tiers, 'tier')}; p-values are "
        f"two-sided and adjusted over the heads of a tier (max-T, {test}); "
        "intervals are 95 % and not adjusted",
        "Check": f"{listed(check['heads'])} ({listed(check['scopes'])}) agree with the plain loop, "
        f"one hooked forward pass a head, within {scientific(check['largest_difference'])} logits; "
        f"the largest logit is {number(check['largest_logit'], 1)}",
        "Caution": _OFF_THE_MANIFOLD,
    }


def _halves(n_discovery: int, n_confirmation: int) -> str:
    if not (n_discovery and n_confirmation):
        return "none: all heads are chosen and read on the same items"
    return (
        f"{counted(n_discovery, 'item')} to discover and {n_confirmation} to confirm, which share "
        "no wording and no lexeme; every verdict stands for all items and for either half"
    )
