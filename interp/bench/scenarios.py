"""What is timed: made-up prompts of given shapes. What they say plays no part in the cost."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from interp.effects import LOGIT_DIFFERENCE, STATE_SHIFT, Resample, Scope, mean_over
from interp.effects.baselines import Baseline
from interp.effects.metrics import Metric
from interp.encode import Batch
from interp.items import Item
from interp.models.model import Model


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One row of the table.

    Attributes:
        model: by name.
        prompts: tokens and donors, from the size of the vocabulary and a seed.
        wanted: the ratio to the plain loop that is aimed at.
        n_sampled: heads for which the plain loop is timed; its time is scaled to all.
        with_helper: whether TransformerLens's own patching helper is timed too.
    """

    name: str
    scope: Scope
    wanted: float
    prompts: Callable[[int, int], Int[Tensor, "item pos"]]
    is_mean: bool = False
    model: str = "smollm2-135m"
    metric: Metric = LOGIT_DIFFERENCE
    n_sampled: int = 6
    with_helper: bool = False

    def batch(self, n_vocabulary: int, *, seed: int = 0) -> Batch:
        """The items, each beside its counterfactual."""
        return batch_of(self.prompts(n_vocabulary, seed), prefix=f"{seed}.")

    def baseline(self, model: Model) -> Baseline:
        """What is put in; a mean is over as many other prompts, and made beforehand."""
        if not self.is_mean:
            return Resample()
        reference = self.batch(model.config.vocab_size, seed=1)
        return mean_over(model, [reference], name="other prompts")


def crossed(n_vocabulary: int, seed: int) -> Int[Tensor, "item pos"]:
    """16 × 8 pairs of six tokens: a start, a word, one of 16, a flipped word, a word, one of 8."""
    first, flip, second = _words(n_vocabulary, seed, 16, 2, 8)
    start, word = _words(n_vocabulary, seed + 100, 1, 1)
    rows = [
        [int(start), int(word), int(a), int(x), int(word), int(b)]
        for a in first
        for b in second
        for x in flip
    ]
    return torch.tensor(rows)


def unlike(n_pairs: int, length: int) -> Callable[[int, int], Int[Tensor, "item pos"]]:
    """Pairs that share no prefix with one another, and differ in one token halfway."""

    def prompts(n_vocabulary: int, seed: int) -> Int[Tensor, "item pos"]:
        generator = torch.Generator().manual_seed(seed)
        low = n_vocabulary // 4
        rows = torch.randint(low, n_vocabulary - 1, (n_pairs, length), generator=generator)
        other = rows.clone()
        other[:, length // 2] += 1
        return torch.stack([rows, other], dim=1).flatten(0, 1)

    return prompts


def batch_of(ids: Int[Tensor, "item pos"], *, prefix: str = "") -> Batch:
    """Rows of tokens as items, neighbours being pairs; the source is where a pair differs.

    The answer of an item is the foil of its counterfactual, as in a task: effects on the two would
    else have opposite signs, and their mean over items would say nothing.
    """
    n_items, length = ids.shape
    donor = torch.arange(n_items).view(-1, 2).flip(1).flatten()
    source = ids != ids[donor]
    nowhere = torch.zeros_like(source)
    special = nowhere.clone()
    special[:, 0] = True
    is_first = torch.arange(n_items) < donor
    one = 1000 % int(ids.max())
    answer, foil = (torch.where(is_first == first, one, one // 2) for first in (True, False))
    items = tuple(
        Item(
            item_id=f"{prefix}{row}", pair_id=f"{prefix}{row // 2}", task="bench",
            template_id="made up", clusters=(f"{row // 2}",), clean_text="", corrupt_text="",
            answer_text="", foil_text="", source=(), distractors=(),
        )
        for row in range(n_items)
    )  # fmt: skip
    return Batch(
        items=items, ids=ids, donor=donor, query=torch.full((n_items,), length - 1),
        source=source, distractor=nowhere, special=special, answer=answer, foil=foil,
    )  # fmt: skip


def _words(n_vocabulary: int, seed: int, *sizes: int) -> list[Int[Tensor, " word"]]:
    generator = torch.Generator().manual_seed(seed)
    low = n_vocabulary // 4
    chosen = low + torch.randperm(n_vocabulary - low, generator=generator)[: sum(sizes)]
    return list(torch.split(chosen, list(sizes)))


SCENARIOS = (
    Scenario(
        name="everywhere, resample, 128 pairs crossed 16 × 8", scope=Scope.EVERYWHERE, wanted=12.0,
        prompts=crossed, n_sampled=3, with_helper=True,
    ),
    Scenario(
        name="query, resample, 128 pairs of 16 tokens", scope=Scope.QUERY, wanted=30.0,
        prompts=unlike(128, 16), n_sampled=3,
    ),
    Scenario(
        name="query, mean, 8 × 64 tokens", scope=Scope.QUERY, wanted=90.0,
        prompts=unlike(4, 64), is_mean=True, n_sampled=3,
    ),
    Scenario(
        name="query, mean, 8 × 256 tokens", scope=Scope.QUERY, wanted=200.0,
        prompts=unlike(4, 256), is_mean=True, n_sampled=3,
    ),
    Scenario(
        name="query, mean, 4 × 2,048 tokens", scope=Scope.QUERY, wanted=250.0,
        prompts=unlike(2, 2048), is_mean=True, n_sampled=1,
    ),
    Scenario(
        name="MiniLM, everywhere, resample, 128 pairs of 16 tokens", scope=Scope.EVERYWHERE,
        wanted=1.7, prompts=unlike(128, 16), model="minilm-l6", metric=STATE_SHIFT, n_sampled=6,
    ),
)  # fmt: skip
