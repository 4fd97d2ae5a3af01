"""How far predicted step times are from measured ones: arithmetic on numbers, which measures nothing itself.

A case is {"name", "predicted": [s, s], "measured": [s, s], "families": [...]}, of two runs, each of which was predicted
by a calibration of its own; "families" has for each run {family: (predicted s, measured s)} of a training step.
"""

import itertools
import math
import statistics

WAITING = "waiting, gaps"  # of a step, what no instruction takes


def candidate_meshes(own, most_devices):
    """Tuples of axis sizes: `own`, where it has no more than `most_devices`, then others of as many axes. Each next one
    is of another number of devices, its own, 1, 2, 4, ..., and then again; of each the evenest mesh first."""
    devices = min(math.prod(own), most_devices)
    counts = dict.fromkeys([devices, *(2**n for n in range(most_devices.bit_length()) if 2**n <= most_devices)])
    of_count = [sorted((mesh for mesh in itertools.product(range(1, count + 1), repeat=len(own))
                        if math.prod(mesh) == count and mesh != own), key=lambda mesh: (max(mesh), mesh))
                for count in counts]
    rounds = itertools.zip_longest(*of_count)
    others = [mesh for some in rounds for mesh in some if mesh]
    return [own, *others] if math.prod(own) <= most_devices else others


def family_seconds(rows):
    """{family: (predicted s, measured s)} of a training step, means over ranks, out of the rows (dicts) of a recorded
    run's table `timeline`. A family is a kind of work; a collective's time is that of its transfer; waiting for peers is
    WAITING."""
    lanes = {}
    for row in rows:
        sums = lanes.setdefault((row["stage"], row["rank"]), {"": [math.inf, 0.0]})
        arrive, start, end = (float(row[f"{name}_seconds"]) for name in ("arrive", "start", "end"))
        sums[row["work"]] = sums.get(row["work"], 0.0) + end - start
        sums[""] = [min(sums[""][0], arrive), max(sums[""][1], end)]
    for sums in lanes.values():
        begin, end = sums.pop("")
        sums[WAITING] = end - begin - sum(sums.values())
    ranks = [(lanes[stage, ""], sums) for (stage, rank), sums in lanes.items() if rank]
    families = dict.fromkeys(family for sums in lanes.values() for family in sums)
    return {family: tuple(statistics.fmean(side.get(family, 0.0) for side in sides) for sides in zip(*ranks))
            for family in families}


def error(case):
    """Of the prediction, relative to the measurement; the mean of both runs. Below 0: predicted too fast."""
    return statistics.fmean(p / m - 1 for p, m in zip(case["predicted"], case["measured"], strict=True))


def spread(pair):
    """How far two numbers are apart, relative to their mean."""
    return abs(pair[0] - pair[1]) / statistics.fmean(pair)


def rank_correlation(cases):
    """(Kendall's tau of predicted and measured times, number of pairs), over the pairs of cases whose measured times
    are further apart than the runs of either; None where there is no such pair. A pair that is predicted to take
    equally long counts as neither right nor wrong."""
    signs = []
    for pair in itertools.combinations(cases, 2):
        predicted, measured = ([statistics.fmean(case[name]) for case in pair] for name in ("predicted", "measured"))
        apart = measured[0] - measured[1]
        if abs(apart) > max(abs(case["measured"][0] - case["measured"][1]) for case in pair):
            difference = (predicted[0] - predicted[1]) * apart
            signs.append((difference > 0) - (difference < 0))
    return (statistics.fmean(signs) if signs else None), len(signs)


def summary(cases):
    """Relative errors of at least one case; of the absolute errors mean, median and worst."""
    errors = [error(case) for case in cases]
    sizes = [abs(value) for value in errors]
    tau, pairs = rank_correlation(cases)
    return {"cases": len(cases), "mean": statistics.fmean(sizes), "median": statistics.median(sizes), "worst": max(sizes),
            "too_fast": sum(value < 0 for value in errors) / len(errors),
            "repeat": statistics.fmean(spread(case["measured"]) for case in cases),
            "recalibrated": statistics.fmean(spread(case["predicted"]) for case in cases), "tau": tau, "pairs": pairs}


def family_errors(cases):
    """[(family, share, error, part)], the largest share first: of the measured step; of the family's own time (None where
    none was measured); and what it adds to the error of a step. Each run counts alike, however long its steps are."""
    runs = [families for case in cases for families in case["families"]]
    sums = {}
    for families in runs:
        step = sum(measured for _, measured in families.values())
        for family, pair in families.items():
            sums[family] = [total + seconds / step for total, seconds in zip(sums.get(family, (0, 0)), pair)]
    rows = [(family, measured / len(runs), predicted / measured - 1 if measured > 0 else None,
             (predicted - measured) / len(runs)) for family, (predicted, measured) in sums.items()]
    return sorted(rows, key=lambda row: -row[1])
