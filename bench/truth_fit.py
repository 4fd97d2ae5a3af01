"""Fits the constants of a software stack on a machine to measured step times: reads what `bench/truth --json OUT` wrote,
takes the rows of half 0, and prints by how much each kind of work should take longer than predicted.

A row's time is that of its slowest stage: the sum of its work by family, each scaled by the multiplier of its class and
at least the time to issue its instructions, and what is exposed of its communication; times the plan's step over that
sum, which is what stages wait for each other. Multipliers minimise the sum of the squared logarithms of predicted to
measured, by coordinate search from several issue times; a weak pull holds those that the rows do not decide (--pull,
--toward). The plans are then made anew with the new constants: bench/truth is what counts.

  products     1 / efficiency of products in bf16 (fp8: in fp8)
  attention    1 / efficiency of attention's rate, forward and backward
  memory       1 / memory_efficiency, of all other computation
  tensor, data, context, pipeline    1 / efficiency of communication over these axes
  issue        microseconds between two instructions at least
"""

import argparse
import collections
import json
import math
import pathlib

from truth_statistics import error, half

# None takes less than at the machine's peak rates, which the plans were made with.
LEAST = 1.0
CLASSES = ["products", "fp8", "attention", "memory", "tensor", "data", "context", "pipeline", "issue"]
PULL = 0.03
# Where the pull goes: about what benchmarks of single kernels and of collectives show.
USUAL = {"products": 1.4, "fp8": 1.7, "attention": 2.5, "memory": 1.25, "tensor": 1.3, "data": 1.3, "context": 1.3,
         "pipeline": 2.0}
ISSUE_STARTS = (1e-6, 1e-5, 5e-5, 1e-4, 2e-4)
STEPS = [2 ** (2.0**-k) for k in range(0, 8)]


def class_of(family, axes):
    if family.startswith(("einsum", "expert_linear")):
        return "fp8" if "f8" in family or "fp8" in family else "products"
    if family.startswith("attention"):
        return "attention"
    if family in ("send", "receive"):
        return "pipeline"
    for axis in ("tensor", "context"):
        if axis in axes:
            return axis
    return "data" if axes else "memory"


def features(plan):
    """By stage: [(class, seconds, count)] of what takes the device's time."""
    stages = []
    for work, communication in zip(plan["work"], plan["communication"]):
        parts = [(class_of(line["family"], line["axes"]), line["seconds"], line["count"]) for line in work
                 if not line["axes"]]
        parts += [(class_of("", line["axes"]), line["seconds"], 0) for line in communication["exposed_by_axes"]]
        stages.append(parts)
    return stages


def stage_seconds(parts, scale):
    total = 0.0
    for kind, seconds, count in parts:
        scaled = seconds * scale[kind]
        total += max(scaled, count * scale["issue"]) if kind not in ("tensor", "data", "context", "pipeline") else scaled
    return total


def model(row, scale):
    waiting = row["step"] / max(stage_seconds(parts, row["own"]) for parts in row["stages"])
    return waiting * max(stage_seconds(parts, scale) for parts in row["stages"])


def loss(rows, scale, aim):
    fit = sum(min(math.log(model(row, scale) / row["measured"]) ** 2, 0.25) for row in rows) / len(rows)
    pull = sum(math.log(scale[kind] / value) ** 2 for kind, value in aim["scale"].items()) * aim["pull"] ** 2
    return fit + pull


def search(rows, kinds, aim):
    starts = [{**USUAL, "issue": issue, **aim["scale"]} for issue in ([1] if "issue" in aim["scale"] else ISSUE_STARTS)]
    return min((descend(rows, kinds, start, aim) for start in starts), key=lambda scale: loss(rows, scale, aim))


def descend(rows, kinds, scale, aim):
    best = loss(rows, scale, aim)
    for step in STEPS * 2:
        improved = True
        while improved:
            improved = False
            for kind in kinds:
                for factor in (step, 1 / step):
                    tried = {**scale, kind: scale[kind] * factor}
                    if tried["issue"] > 1e-3 or (kind != "issue" and tried[kind] < LEAST):
                        continue
                    if (value := loss(rows, tried, aim)) < best - 1e-9:
                        scale, best, improved = tried, value, True
    return scale


def prepare(result):
    plan = result["plan"]
    return {"id": result["id"], "stages": features(plan), "step": plan["seconds_per_step"], "measured": result["time"][1],
            "own": {kind: 1.0 for kind in CLASSES} | {"issue": 0.0}}


def name_of(stack):
    return stack if isinstance(stack, str) else stack["name"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, help="of bench/truth --json")
    parser.add_argument("--half", type=int, choices=(0, 1), default=0, help="of the rows to fit to (default: 0)")
    parser.add_argument("--stack", help="of this stack alone")
    parser.add_argument("--pull", type=float, default=PULL, help="how strong the pull is (default: %(default)s)")
    parser.add_argument("--toward", nargs="+", metavar="CLASS=VALUE", default=[],
                        help="pull to these multipliers alone, such as those of a later version of the stack")
    arguments = parser.parse_args()
    toward = {kind: float(value) for kind, value in (text.split("=") for text in arguments.toward)}
    aim = {"scale": toward or USUAL, "pull": arguments.pull}
    groups = collections.defaultdict(list)
    for result in json.loads(arguments.results.read_text())["rows"]:
        if "time" in result and arguments.stack in (None, name_of(result["stack"])):
            groups[result["machine"], name_of(result["stack"])].append(result)
    for (machine, stack), results in sorted(groups.items()):
        rows = [prepare(result) for result in results if half(result["id"]) == arguments.half]
        others = [prepare(result) for result in results if half(result["id"]) != arguments.half]
        if not rows:
            continue
        present = {kind for row in rows for parts in row["stages"] for kind, seconds, _ in parts if seconds > 0}
        scale = search(rows, [kind for kind in CLASSES if kind in present or kind == "issue"], aim)
        mean = [sum(abs(error(model(row, scale), row["measured"])) for row in some) / max(1, len(some))
                for some in (rows, others)]
        print(f"{machine}, {stack}: {len(rows)} rows, mean error {100 * mean[0]:.1f} %; "
              f"{len(others)} held out, {100 * mean[1]:.1f} %")
        for kind in CLASSES:
            if kind == "issue":
                print(f"  {kind:10} {1e6 * scale[kind]:9.2f} us")
            elif kind in present:
                print(f"  {kind:10} {scale[kind]:9.3f}   (1 / {1 / scale[kind]:.3f})")


if __name__ == "__main__":
    main()
