"""Arithmetic on predictions and measurements of bench/truth; plans nothing itself."""

import collections
import hashlib
import math
import statistics

FEWEST_TO_RANK = 8


def half(identifier):
    """0 or 1, by a hash of a row's id alone: constants are fitted to the rows of half 0."""
    return hashlib.sha256(identifier.encode()).digest()[0] & 1


def error(predicted, measured):
    """Below 0: too fast, too little."""
    return predicted / measured - 1


def ranks(values):
    """From 1; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    found, i = [0.0] * len(values), 0
    while i < len(order):
        j = i
        while j + 1 < len(order) and values[order[j + 1]] == values[order[i]]:
            j += 1
        for k in range(i, j + 1):
            found[order[k]] = (i + j) / 2 + 1
        i = j + 1
    return found


def rank_correlation(pairs):
    """Spearman's, of (predicted, measured); None of fewer than FEWEST_TO_RANK or where all are equal."""
    if len(pairs) < FEWEST_TO_RANK:
        return None
    predicted, measured = (ranks([pair[i] for pair in pairs]) for i in range(2))
    if len(set(predicted)) < 2 or len(set(measured)) < 2:
        return None
    return statistics.correlation(predicted, measured)


def growth_by_devices(rows):
    """How much measured to predicted time grows by each doubling of the devices, within series alone: least squares of
    its logarithm, of (series, devices, predicted, measured). Gives (slope, standard error, rows used); None where no
    series has several numbers of devices."""
    series = collections.defaultdict(list)
    for name, devices, predicted, measured in rows:
        series[name].append((math.log2(devices), math.log(measured / predicted)))
    series = [points for points in series.values() if len({x for x, _ in points}) > 1]
    centred = []
    for points in series:
        means = [statistics.fmean(point[i] for point in points) for i in range(2)]
        centred += [(x - means[0], y - means[1]) for x, y in points]
    freedom = len(centred) - len(series) - 1
    if freedom < 1:
        return None
    spread = sum(x * x for x, _ in centred)
    slope = sum(x * y for x, y in centred) / spread
    rest = sum((y - slope * x) ** 2 for x, y in centred)
    return slope, math.sqrt(rest / freedom / spread), len(centred)


def summary(pairs):
    """Of (predicted, measured): count, mean and worst absolute error, mean signed error, rank correlation."""
    errors = [error(*pair) for pair in pairs]
    return {"rows": len(pairs), "mean": statistics.fmean(map(abs, errors)), "worst": max(errors, key=abs),
            "signed": statistics.fmean(errors), "rank_correlation": rank_correlation(pairs)}
