"""Fits the constants of a software stack on a machine to measured step times, as bench/truth_fit.py does, but by
planning the rows anew for every set of constants that is tried: what is hidden, which stage waits and how far the host
is ahead are in it. Starts from the numbers in resources/stacks (or --start) and prints the constants, with the mean error,
the mean with its sign and the rank correlation of all rows, and of either half.

  bench/truth --set SERIES --write-runs RUNS --json OUT
  python3 bench/truth_refit.py OUT RUNS --stack STACK --machine MACHINE

Gauss-Newton with damping on the logarithms of predicted to measured of the rows of one half (--half), with slopes from
plans with each constant 6 % larger. Squared logarithms count up to --cap; a weak pull (--pull) goes to the numbers of
--toward, or to what benchmarks of single kernels and of collectives show. No share is above 1.

  products, fp8, attention, memory    shares of the machine's rates
  issue                               issue_seconds of the device
  link.LEVEL, message.LEVEL           shares of a level's rate that collectives and messages between stages reach
"""

import argparse
import concurrent.futures
import copy
import json
import math
import os
import pathlib
import subprocess
import tempfile

from truth_statistics import half, summary

ROOT = pathlib.Path(__file__).resolve().parent.parent
USUAL = {"products": 1 / 1.4, "fp8": 1 / 1.7, "attention": 1 / 2.5, "memory": 1 / 1.25, "link": 1 / 1.3, "message": 0.5}
MOST_ISSUE = 1e-3
CHANGE = 0.06  # of a logarithm, for slopes
LARGEST_STEP = 0.5
ROUNDS = 6


def numbers_of(stack, machine):
    """{constant: value} of a file of resources/stacks."""
    numbers = stack["machines"][machine]
    device = numbers["device"]
    found = {name: device["products"][precision]["tiles"][0]["efficiency"]
             for name, precision in (("products", "bf16"), ("fp8", "fp8")) if precision in device["products"]}
    found |= {"attention": device["kernels"]["attention"]["efficiency"], "memory": device["memory_efficiency"]}
    if device.get("issue_seconds"):
        found["issue"] = device["issue_seconds"]
    found |= {f"link.{rule['level']}": rule["efficiency"] for rule in numbers["collectives"]}
    return found | {f"message.{level}": rate["message_efficiency"] for level, rate in numbers.get("levels", {}).items()}


def with_numbers(numbers, constants):
    """What `machines` of a stack says of one machine, with these constants."""
    made = copy.deepcopy(numbers)
    device = made["device"]
    for name, value in constants.items():
        kind, _, level = name.partition(".")
        if kind in ("products", "fp8"):
            for precision in {"products": ("bf16", "f16"), "fp8": ("fp8",)}[kind]:
                if precision in device["products"]:
                    device["products"][precision]["tiles"][0]["efficiency"] = value
        elif kind == "attention":
            for family in ("attention", "attention_grad"):
                device["kernels"][family]["efficiency"] = value
        elif kind == "memory":
            device["memory_efficiency"] = value
        elif kind == "issue":
            device["issue_seconds"] = value
        elif kind == "link":
            for rule in made["collectives"]:
                if rule["level"] == level:
                    rule["efficiency"] = value
        else:
            made.setdefault("levels", {}).setdefault(level, {})["message_efficiency"] = value
    return made


class Plans:
    """Step times of rows, by plans that are made once for each set of constants."""

    def __init__(self, arguments, numbers):
        self.arguments, self.numbers, self.known = arguments, numbers, {}
        self.pool = concurrent.futures.ThreadPoolExecutor(arguments.jobs)

    def seconds(self, rows, constants):
        return list(self.pool.map(lambda row: self.of(row, constants), rows))

    def of(self, row, constants):
        key = row["id"], tuple(sorted(constants.items()))
        if key not in self.known:
            self.known[key] = self.plan(row, constants)
        return self.known[key]

    def plan(self, row, constants):
        folder = self.arguments.runs / row["id"]
        run = json.loads((folder / "run.json").read_text())
        stack = run["stack"] if isinstance(run["stack"], dict) else {"name": run["stack"]}
        run["stack"] = stack | {"machines": {self.arguments.machine: with_numbers(self.numbers, constants)}}
        with tempfile.NamedTemporaryFile("w", suffix=".json", dir=folder) as file:
            file.write(json.dumps(run))
            file.flush()
            command = [self.arguments.bin / "shardrun", "plan", file.name, "--json", "--quiet"]
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["seconds_per_step"]


def clipped(name, value):
    return min(value, MOST_ISSUE if name == "issue" else 1.0)


def moved(constants, groups, steps):
    return {name: clipped(name, constants[name] * math.exp(step)) for group, step in zip(groups, steps) for name in group}


def solve(rows, rhs):
    """Least squares, by normal equations."""
    count = len(rows[0])
    matrix = [[sum(row[p] * row[q] for row in rows) for q in range(count)] +
              [sum(row[p] * value for row, value in zip(rows, rhs))] for p in range(count)]
    for p in range(count):
        pivot = max(range(p, count), key=lambda q: abs(matrix[q][p]))
        matrix[p], matrix[pivot] = matrix[pivot], matrix[p]
        for q in range(count):
            if q != p:
                factor = matrix[q][p] / matrix[p][p]
                matrix[q] = [x - factor * y for x, y in zip(matrix[q], matrix[p])]
    return [matrix[p][count] / matrix[p][p] for p in range(count)]


def bounded(rows, rhs, most):
    """Likewise, where no solution is above its bound, nor below -LARGEST_STEP."""
    fixed = {}
    while True:
        free = [j for j in range(len(most)) if j not in fixed]
        if free:
            rest = [value - sum(row[j] * at for j, at in fixed.items()) for row, value in zip(rows, rhs)]
            found = solve([[row[j] for j in free] for row in rows], rest)
        steps = [fixed[j] if j in fixed else found[free.index(j)] for j in range(len(most))]
        outside = {j: max(-LARGEST_STEP, min(most[j], steps[j])) for j in free
                   if not -LARGEST_STEP <= steps[j] <= most[j]}
        if not outside:
            return steps
        fixed |= outside


class Fit:
    def __init__(self, plans, rows, groups, aim, arguments):
        self.plans, self.rows, self.groups, self.aim = plans, rows, groups, aim
        self.pull, self.cap = arguments.pull, arguments.cap

    def errors(self, constants):
        return [math.log(seconds / row["time"][1])
                for seconds, row in zip(self.plans.seconds(self.rows, constants), self.rows)]

    def loss(self, errors, constants):
        pulls = [math.log(constants[name] / value) ** 2 for name, value in self.aim.items()]
        return sum(min(one**2, self.cap) for one in errors) / len(errors) + self.pull**2 * sum(pulls)

    def slopes(self, constants, errors):
        """By row, then group."""
        columns = []
        for group in self.groups:
            change = CHANGE if constants[group[0]] < 0.9 or group == ["issue"] else -CHANGE
            steps = [change if other == group else 0.0 for other in self.groups]
            changed = self.errors(moved(constants, self.groups, steps))
            columns.append([(after - before) / change for after, before in zip(changed, errors)])
        return list(zip(*columns))

    def aimed(self, constants, errors, slopes, damping):
        weights = [(1.0 if one**2 < self.cap else 0.15) / math.sqrt(len(errors)) for one in errors]
        rows = [[weight * slope for slope in of_row] for weight, of_row in zip(weights, slopes)]
        rhs = [-weight * one for weight, one in zip(weights, errors)]
        for j, group in enumerate(self.groups):
            for size, value in ((self.pull, self.aim.get(group[0])), (damping, constants[group[0]])):
                if value:
                    rows.append([size if other == j else 0.0 for other in range(len(self.groups))])
                    rhs.append(-size * math.log(constants[group[0]] / value))
        most = [min(LARGEST_STEP, math.log(clipped(group[0], math.inf) / constants[group[0]])) for group in self.groups]
        return moved(constants, self.groups, bounded(rows, rhs, most))

    def run(self, constants):
        errors, damping = self.errors(constants), 0.005
        for _ in range(ROUNDS):
            slopes, before = self.slopes(constants, errors), self.loss(errors, constants)
            for _ in range(4):
                tried = self.aimed(constants, errors, slopes, damping)
                found = self.errors(tried)
                if self.loss(found, tried) < before:
                    constants, errors, damping = tried, found, damping / 4
                    break
                damping *= 4
            else:
                break
        return constants, self.loss(errors, constants)


def print_errors(plans, rows, constants, label):
    print(label)
    for name, some in (("all", rows), *((f"half {h}", [row for row in rows if half(row["id"]) == h]) for h in (0, 1))):
        pairs = [(seconds, row["time"][1]) for seconds, row in zip(plans.seconds(some, constants), some)]
        if pairs:
            line = summary(pairs)
            rank = "" if line["rank_correlation"] is None else f", rank correlation {line['rank_correlation']:.3f}"
            print(f"  {name:8}{len(some):4} rows, {100 * line['mean']:5.1f} %, signed {100 * line['signed']:5.1f} %{rank}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, help="of bench/truth --json")
    parser.add_argument("runs", type=pathlib.Path, help="of bench/truth --write-runs")
    parser.add_argument("--stack", required=True)
    parser.add_argument("--machine", required=True)
    parser.add_argument("--half", type=int, choices=(0, 1), default=0, help="of the rows to fit to (default: 0)")
    parser.add_argument("--start", nargs="+", metavar="CONSTANT=VALUE", default=[], help="other numbers to start from")
    parser.add_argument("--issue", nargs="+", type=float, metavar="SECONDS", help="issue times to start from in turn")
    parser.add_argument("--together", nargs="+", metavar="A,B", default=[], help="constants that are one")
    parser.add_argument("--keep", nargs="+", metavar="CONSTANT", default=[], help="constants that stay")
    parser.add_argument("--pull", type=float, default=0.03, help="how strong the pull is (default: %(default)s)")
    parser.add_argument("--cap", type=float, default=0.25, help="of squared logarithms (default: %(default)s)")
    parser.add_argument("--toward", nargs="+", metavar="CONSTANT=VALUE", default=[], help="pull to these alone")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="plans at a time")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin", help="folder of the programs")
    return parser.parse_args()


def pairs_of(texts):
    return {name: float(value) for name, value in (text.split("=") for text in texts)}


def main():
    arguments = parse_arguments()
    stack = json.loads((ROOT / f"resources/stacks/{arguments.stack}.json").read_text())
    rows = [row for row in json.loads(arguments.results.read_text())["rows"] if "time" in row and
            row["machine"] == arguments.machine and
            arguments.stack == (row["stack"] if isinstance(row["stack"], str) else row["stack"]["name"])]
    start = numbers_of(stack, arguments.machine) | pairs_of(arguments.start)
    groups = [text.split(",") for text in arguments.together]
    joined = [name for group in groups for name in group] + arguments.keep
    groups += [[name] for name in start if name not in joined]
    toward = pairs_of(arguments.toward)
    usual = {group[0]: USUAL[group[0].partition(".")[0]] for group in groups if group != ["issue"]}
    plans = Plans(arguments, stack["machines"][arguments.machine])
    print_errors(plans, rows, start, "before")
    fit = Fit(plans, [row for row in rows if half(row["id"]) == arguments.half], groups, toward or usual, arguments)
    starts = [start | {"issue": issue} for issue in arguments.issue] if arguments.issue else [start]
    found, _ = min((fit.run(one) for one in starts), key=lambda pair: pair[1])
    found = {name: float(f"{value:.4g}") for name, value in found.items()}
    print_errors(plans, rows, found, f"fitted to half {arguments.half}")
    for name, value in found.items():
        print(f"  {name:22}{value:g}")


if __name__ == "__main__":
    main()
