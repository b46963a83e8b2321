"""Statistics of item scores: error bars, sampling metrics of several generations a prompt, and paired comparison.

Tables of item scores come in, means with their uncertainty go out. Everything is computed from exact, mergeable sums
(`Units`), so neither row order nor the cut into shards changes a bit; SciPy is imported when a quantile is needed.
"""

from fastscore.stats.comparison import Comparison, Pair
from fastscore.stats.intervals import Interval, interval, intervals, mean_interval
from fastscore.stats.paired import Difference, McNemar, adjust, paired_difference
from fastscore.stats.sampling import SamplingMetrics, best_at_k, maj_at_k, pass_at_k, per_prompt, sampling_metrics
from fastscore.stats.units import Units

__all__ = [
    "Comparison",
    "Difference",
    "Interval",
    "McNemar",
    "Pair",
    "SamplingMetrics",
    "Units",
    "adjust",
    "best_at_k",
    "interval",
    "intervals",
    "maj_at_k",
    "mean_interval",
    "paired_difference",
    "pass_at_k",
    "per_prompt",
    "sampling_metrics",
]
