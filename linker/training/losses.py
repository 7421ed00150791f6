"""Losses of the phases of training: pure functions of float32 or float64 tensors, to be called outside autocast.

B: lists (mentions) of a batch, K: candidates of a list, H: hypernym names of a mention, d: components of a vector.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from linker.matching import SYNONYM


def listwise(scores: Tensor, relevance: Tensor, mask: Tensor, temperature: float = 1.0) -> Tensor:
    """Compute the list-wise cross entropy `-Σ_i softmax(y / temperature)_i log softmax(z)_i` of each list (BCNH eq. 5-6).

    Args:
        scores: z, (B, K).
        relevance: y, (B, K) integers: 2 synonym, 1 hypernym, 0 neither.
        mask: (B, K) bool, False where there is no candidate; both softmaxes are over the others.
        temperature: of the target; 1 in the paper.

    Returns:
        (B,); 0 for a list without candidates.
    """
    target = (
        _log_softmax(relevance.to(scores.dtype) / temperature, mask).exp().masked_fill(~mask, 0)
    )
    return -(target * _log_softmax(scores, mask)).sum(-1)


def marginal(scores: Tensor, relevance: Tensor, mask: Tensor) -> Tensor:
    """Compute the marginal likelihood `-log Σ_{i: y_i = 2} softmax(z)_i` of each list (BioSyn, Sung et al. 2020).

    The published code clamps the probability of the synonyms to 1e-9 and more, which takes the gradient from the lists that
    need it most; here the sum is taken in log space, and nothing is clamped.

    Args:
        scores: z, (B, K).
        relevance: y, (B, K) integers; 2 is a synonym, all else is wrong.
        mask: (B, K) bool, False where there is no candidate.

    Returns:
        (B,); 0 with zero gradient for a list without a synonym, which the published code leaves out of its mean too
        (see `mean_of_lists`).
    """
    right = mask & (relevance == SYNONYM)
    likelihood = _log_softmax(scores, mask).masked_fill(~right, _lowest(scores)).logsumexp(-1)
    return torch.where(right.any(-1), -likelihood, 0)


def mean_of_lists(losses: Tensor, counted: Tensor) -> Tensor:
    """Average the losses (B,) over the lists that are `counted`, (B,) bool (BCNH eq. 4); 0 where none is."""
    return torch.where(counted, losses, 0).sum() / counted.sum().clamp(min=1)


def hypernym_norm(mentions: Tensor, hypernyms: Tensor, mask: Tensor) -> Tensor:
    """Compute the norm loss, the mean of `(|v_m| - |v_h|) / (|v_m| + |v_h|)` (BCNH eq. 7): hypernyms get the larger norm.

    Args:
        mentions: v_m, (B, d).
        hypernyms: v_h, (B, H, d).
        mask: (B, H) bool, False where there is no hypernym. The paper divides by H always; here only hypernyms count.

    Returns:
        The mean over the hypernyms of each mention, then over the mentions that have any; 0 where none has. Two zero vectors
        give 0.
    """
    above = hypernyms.masked_fill(~mask.unsqueeze(-1), 0).norm(dim=-1)
    own = mentions.norm(dim=-1, keepdim=True)
    total = own + above
    ratios = (own - above) / total.masked_fill(total == 0, 1)
    each = torch.where(mask, ratios, 0).sum(-1) / mask.sum(-1).clamp(min=1)
    return mean_of_lists(each, mask.any(-1))


def info_nce(a: Tensor, b: Tensor, same: Tensor, temperature: float) -> Tensor:
    """Compute the symmetric InfoNCE of pairs: the mean of both directions' `-log softmax(cosines / temperature)` of the own partner.

    InfoNCE: van den Oord et al. 2018, eq. 4; in both directions as in CLIP (Radford et al. 2021, figure 3).

    Args:
        a, b: (B, d) vectors, of which a[i] and b[i] are a pair.
        same: (B, B) bool, True where a[i] and b[j] mean the same concept; such a pair is no negative and is left out.
        temperature: cosines are divided by it.

    Returns:
        A scalar.
    """
    cosines = functional.normalize(a, dim=-1) @ functional.normalize(b, dim=-1).T / temperature
    own = torch.eye(len(a), dtype=torch.bool, device=a.device)
    kept = own | ~same
    return (
        -(
            _log_softmax(cosines, kept).diagonal() + _log_softmax(cosines.T, kept.T).diagonal()
        ).mean()
        / 2
    )


def cosine_distance(a: Tensor, b: Tensor) -> Tensor:
    """Compute `1 - cos(a, b)` over the last axis; 1 where one of them is zero."""
    return 1 - (functional.normalize(a, dim=-1) * functional.normalize(b, dim=-1)).sum(-1)


def triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """Compute `max(d(anchor, positive) - d(anchor, negative) + margin, 0)`, d the cosine distance (Fivez et al. 2021a, eq. 3).

    The published code takes the hinge of the mean distances of a batch; here each triplet has its own.

    Args:
        anchor, positive, negative: (B, d).

    Returns:
        (B,).
    """
    return functional.relu(
        cosine_distance(anchor, positive) - cosine_distance(anchor, negative) + margin
    )


def prototype(names: Tensor, owner: Tensor, targets: Tensor) -> Tensor:
    """Compute the cosine distance of each concept's prototype, the mean of its names' vectors, to its target (Fivez et al. 2021a, eq. 4).

    Args:
        names: (N, d).
        owner: (N,) which of the concepts a name belongs to; each concept has one or more.
        targets: (C, d), CCA(u_p) in the paper.

    Returns:
        (C,).
    """
    count = torch.bincount(owner, minlength=len(targets)).unsqueeze(-1)
    sums = torch.zeros(
        len(targets), names.shape[-1], dtype=names.dtype, device=names.device
    ).index_add(0, owner, names)
    return cosine_distance(sums / count, targets)


def logistic(right: Tensor, wrong: Tensor, has_wrong: Tensor) -> Tensor:
    """Compute `l(right) + l(-wrong)`, l(x) = log(1 + exp(-x)), of dot products (BNE, Phan et al. 2019, section 3.2).

    Args:
        right, wrong: (B,).
        has_wrong: (B,) bool, False where there is no wrong pair, whose term is left out.

    Returns:
        (B,).
    """
    return functional.softplus(-right) + torch.where(has_wrong, functional.softplus(wrong), 0)


def _log_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """The log softmax over the last axis where `mask` is True; finite everywhere, also where all is masked."""
    return scores.masked_fill(~mask, _lowest(scores)).log_softmax(-1)


def _lowest(scores: Tensor) -> float:
    """The least finite number: unlike infinities it makes no NaN, and its exponential is 0 too."""
    return torch.finfo(scores.dtype).min
