"""Whether two runs differ by more than chance."""

from __future__ import annotations

from scipy.stats import ttest_rel
from torch import Tensor


def paired_t_test(first: Tensor, second: Tensor) -> tuple[float, float]:
    """Mean difference of two runs' scores of the same pairs, such as reciprocal ranks, and the two-tailed p-value."""
    one, two = first.double().cpu().numpy(), second.double().cpu().numpy()
    mean = float((one - two).mean())
    if not (one - two).any():
        return 0.0, 1.0  # the test divides 0 by 0
    if (one - two).std() == 0:
        return mean, 0.0  # every pair differs by the same
    return mean, float(ttest_rel(one, two).pvalue)
