"""Losses of the phases of training: pure functions of float32 or float64 tensors.

They are called outside autocast. In shapes, B is the number of lists (mentions), pairs or triplets
of a batch, K of candidates in a list, H of hypernym names of a mention, d of vector components.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from linker.matching import SYNONYM


def listwise(scores: Tensor, relevance: Tensor, mask: Tensor, temperature: float = 1.0) -> Tensor:
    """Compute the list-wise cross entropy of each list (BCNH eq. 5-6).

    It is `-Σ_i softmax(y / temperature)_i log softmax(z)_i`.

    Args:
        scores: z, (B, K).
        relevance: y, (B, K) integers: 2 synonym, 1 hypernym, 0 neither.
        mask: (B, K) bool, False where there is no candidate; neither softmax counts these places.
        temperature: of the target distribution; 1 in the paper.

    Returns:
        (B,); 0 for a list without candidates.
    """
    log_target = _log_softmax(relevance.to(scores.dtype) / temperature, mask)
    target = log_target.exp().masked_fill(~mask, 0)
    return -(target * _log_softmax(scores, mask)).sum(-1)


def marginal(scores: Tensor, relevance: Tensor, mask: Tensor) -> Tensor:
    """Compute the negative log marginal likelihood of each list's synonyms (BioSyn).

    It is `-log Σ_{i: y_i = 2} softmax(z)_i` (Sung et al. 2020). The published code clamps the
    probability of the synonyms to 1e-9 or more, so that the lists with the lowest probability
    get no gradient; here the sum is taken in log space, and nothing is clamped.

    Args:
        scores: z, (B, K).
        relevance: y, (B, K) integers: 2 synonym; all others are wrong.
        mask: (B, K) bool, False where there is no candidate.

    Returns:
        (B,); 0 with zero gradient for a list without a synonym, which the published code leaves
        out of its mean too (see `mean_of_lists`).
    """
    right = mask & (relevance == SYNONYM)
    likelihood = _log_softmax(scores, mask).masked_fill(~right, _lowest(scores)).logsumexp(-1)
    return torch.where(right.any(-1), -likelihood, 0)


def mean_of_lists(losses: Tensor, counted: Tensor) -> Tensor:
    """Average losses over the lists that count (BCNH eq. 4).

    Args:
        losses: of each list, (B,).
        counted: (B,) bool, whether a list counts.

    Returns:
        A scalar; 0 where no list counts.
    """
    return torch.where(counted, losses, 0).sum() / counted.sum().clamp(min=1)


def hypernym_norm(mentions: Tensor, hypernyms: Tensor, mask: Tensor) -> Tensor:
    """Compute the norm loss, which makes the norm of a hypernym larger than the mention's.

    It is the mean of `(|v_m| - |v_h|) / (|v_m| + |v_h|)` (BCNH eq. 7), where two zero vectors
    give 0. The paper always divides by H; here the hypernyms that there are are averaged.

    Args:
        mentions: v_m, (B, d).
        hypernyms: v_h, (B, H, d).
        mask: (B, H) bool, False where there is no hypernym.

    Returns:
        A scalar: the mean over the hypernyms of each mention, then over the mentions that have
        any; 0 where none has.
    """
    hypernym_norms = hypernyms.masked_fill(~mask.unsqueeze(-1), 0).norm(dim=-1)
    mention_norms = mentions.norm(dim=-1, keepdim=True)
    total = mention_norms + hypernym_norms
    ratios = (mention_norms - hypernym_norms) / total.masked_fill(total == 0, 1)
    each = torch.where(mask, ratios, 0).sum(-1) / mask.sum(-1).clamp(min=1)
    return mean_of_lists(each, mask.any(-1))


def info_nce(a: Tensor, b: Tensor, same: Tensor, temperature: float) -> Tensor:
    """Compute the symmetric InfoNCE of pairs, with the rest of the batch as negatives.

    It is `-log softmax(cosines / temperature)` of each vector's partner (van den Oord et al. 2018,
    eq. 4), averaged over both directions as in CLIP (Radford et al. 2021, figure 3).

    Args:
        a: (B, d), the vectors of one side.
        b: (B, d), of the other; a[i] and b[i] are a pair.
        same: (B, B) bool, True where a[i] and b[j] mean the same concept; b[j] is no negative then.
        temperature: divides the cosines.

    Returns:
        A scalar.
    """
    cosines = functional.normalize(a, dim=-1) @ functional.normalize(b, dim=-1).T / temperature
    is_pair = torch.eye(len(a), dtype=torch.bool, device=a.device)
    kept = is_pair | ~same
    forward = _log_softmax(cosines, kept).diagonal()
    backward = _log_softmax(cosines.T, kept.T).diagonal()
    return -(forward + backward).mean() / 2


def cosine_distance(a: Tensor, b: Tensor) -> Tensor:
    """Compute `1 - cos(a, b)` over the last axis; it is 1 where one of the vectors is zero."""
    return 1 - (functional.normalize(a, dim=-1) * functional.normalize(b, dim=-1)).sum(-1)


def triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """Compute the triplet loss with cosine distances d (Fivez et al. 2021a, eq. 3).

    It is `max(d(anchor, positive) - d(anchor, negative) + margin, 0)`. The published code takes
    the maximum once, of a batch's mean distances; here it is taken of each triplet.

    Args:
        anchor: (B, d).
        positive: (B, d), names of the anchor's concept.
        negative: (B, d), names of other concepts.
        margin: by how much the negative should be farther from the anchor than the positive.

    Returns:
        (B,).
    """
    excess = cosine_distance(anchor, positive) - cosine_distance(anchor, negative)
    return functional.relu(excess + margin)


def prototype(names: Tensor, concepts: Tensor, targets: Tensor) -> Tensor:
    """Compute the cosine distance of each concept's prototype to a target vector.

    The prototype is the mean of the vectors of the concept's names (Fivez et al. 2021a, eq. 4).

    Args:
        names: (N, d), the vectors of the names of C concepts.
        concepts: (N,), the concept of each name, from 0; each concept has one name or more.
        targets: (C, d), CCA(u_p) in the paper.

    Returns:
        (C,).
    """
    counts = torch.bincount(concepts, minlength=len(targets)).unsqueeze(-1)
    sums = names.new_zeros(len(targets), names.shape[-1]).index_add(0, concepts, names)
    return cosine_distance(sums / counts, targets)


def logistic(right: Tensor, wrong: Tensor, has_wrong: Tensor) -> Tensor:
    """Compute the logistic loss of the dot products of right and wrong pairs (BNE).

    It is `l(right) + l(-wrong)` with `l(x) = log(1 + exp(-x))` (Phan et al. 2019, section 3.2).

    Args:
        right: (B,), dot products of right pairs.
        wrong: (B,), of wrong pairs.
        has_wrong: (B,) bool, False where there is no wrong pair; its term is left out.

    Returns:
        (B,).
    """
    return functional.softplus(-right) + torch.where(has_wrong, functional.softplus(wrong), 0)


def _log_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Compute the log softmax over the places of the last axis where `mask` is True.

    It is finite everywhere, also where `mask` is False in all places.
    """
    return scores.masked_fill(~mask, _lowest(scores)).log_softmax(-1)


def _lowest(scores: Tensor) -> float:
    """The lowest finite number. Its exponential is 0, and unlike -inf it makes no NaN."""
    return torch.finfo(scores.dtype).min
