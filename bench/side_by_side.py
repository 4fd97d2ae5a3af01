"""Running programs that train side by side: on the same cores, one after the other, measured from outside as well. What
they print is Markdown; how far they are goes to standard error."""

import json
import os
import pathlib
import subprocess
import sys
import time

import machine


def python_with(packages, folder):
    """The Python of an environment, which is made where it does not exist."""
    python = folder / "bin/python"
    if not python.exists():
        print(f"installing {' '.join(packages)} into {folder} ...", file=sys.stderr)
        made = subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, text=True)
        if made.returncode:
            sys.exit(f"{made.stdout}{made.stderr}cannot make a Python environment; Debian: apt-get install python3-venv")
        subprocess.run([folder / "bin/pip", "install", "--quiet", *packages], check=True)
    return python


def add_limits(parser):
    parser.add_argument("--cores", help="cores to use, such as 0,1 (default: all that this process may use)")
    parser.add_argument("--isa", choices=machine.LIMITS,
                        help="the most instructions that any side may use (default: what each finds)")


def begin(arguments, environments, warm_up, notes=()):
    """Limits what is started from here on, and prints what is measured, and how; `environments`: {python: packages}."""
    if arguments.cores:
        os.sched_setaffinity(0, {int(core) for core in arguments.cores.split(",")})
    if arguments.isa:
        machine.limit_instruction_set(arguments.isa)
    lines = machine.heading(arguments.shardrun, arguments.isa)
    lines += [f"- {machine.package_versions(python, packages)}" for python, packages in environments.items()]
    lines.append(f"- rounds: {arguments.rounds}, each with a run of {arguments.steps} steps of every side, in turn; the first "
                 f"{warm_up} steps of a run do not count; times are medians of all counted steps")
    lines.append("- each program's own clock, from the inputs of a step being in place to its loss and its new parameters "
                 "being there; making inputs is outside of it on all sides")
    lines.append(f"- all devices of a row share the {len(os.sched_getaffinity(0))} cores: 8 devices are 8 processes here and "
                 "in PyTorch, 8 virtual devices of one process in JAX; rows of more devices than cores compare what the "
                 "split program costs with its exchange and waiting, not how it would scale over 8 processors")
    print("\n".join([*lines, *notes]) + "\n", flush=True)


def print_row(*cells):
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def print_table_head(*titles):
    print_row(*titles)
    print("|" + "---|" * len(titles), flush=True)


def process_tree(root):
    """Process ids of `root` and all below it."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                pass
    tree = {root}
    while True:
        more = {child for child, parent in parents.items() if parent in tree} - tree
        if not more:
            return tree
        tree |= more


def proportional_set_bytes(process):
    try:
        for line in pathlib.Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    return 0


def run_steps(command, records_path, watch_memory):
    """Runs a training that writes one JSON object a step to `records_path`. Returns them, and the largest sum of the
    processes' proportional set sizes seen after the first step (0 where memory is not watched, which costs time)."""
    records_path.unlink(missing_ok=True)
    log_path = records_path.with_suffix(".log")
    peak = 0
    with open(log_path, "w") as log:
        process = subprocess.Popen(command(records_path), stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        while watch_memory and process.poll() is None:
            if records_path.exists() and records_path.read_text().count("\n"):
                peak = max(peak, sum(map(proportional_set_bytes, process_tree(process.pid))))
            time.sleep(0.1)
        process.wait()
    if process.returncode:
        sys.exit(f"{log_path.read_text()}\n{process.args[0]} ended with {process.returncode}")
    return [json.loads(line) for line in records_path.read_text().splitlines()], peak


def run_timed(command, records_path):
    """Runs a training likewise. Returns its records, and when each of them was seen in the file, in seconds: what a
    program says of its own time can be held against that. Looks every 5 ms."""
    records_path.unlink(missing_ok=True)
    log_path = records_path.with_suffix(".log")
    seen, size = [], 0
    with open(log_path, "w") as log:
        process = subprocess.Popen(command(records_path), stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        while True:
            ended = process.poll() is not None
            if records_path.exists() and os.stat(records_path).st_size != size:
                now, text = time.perf_counter(), records_path.read_text()
                size = len(text)
                seen += [now] * (text.count("\n") - len(seen))
            if ended:
                break
            time.sleep(0.005)
    if process.returncode:
        sys.exit(f"{log_path.read_text()}\n{' '.join(map(str, process.args))} ended with {process.returncode}")
    return [json.loads(line) for line in records_path.read_text().splitlines()], seen
