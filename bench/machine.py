"""The machine, programs and libraries of a measurement, as lines of Markdown; and a limit of the instruction set that
holds for all of them."""

import datetime
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent

# For Shardscope; oneDNN, which Shardscope and PyTorch call; what XLA generates; PyTorch's own kernels; MKL, which it calls.
LIMITS = {"avx2": {"SHARDSCOPE_INSTRUCTION_SET": "x86-64-v3", "ONEDNN_MAX_CPU_ISA": "AVX2",
                   "XLA_FLAGS": "--xla_cpu_max_isa=AVX2", "ATEN_CPU_CAPABILITY": "avx2",
                   "MKL_ENABLE_INSTRUCTIONS": "AVX2"}}
# The most that a processor has: the first of these whose flags it has all.
INSTRUCTION_SETS = {"AVX-512 and AMX": ["avx512f", "amx_bf16"], "AVX-512 with bf16": ["avx512f", "avx512_bf16"],
                    "AVX-512": ["avx512f"], "AVX2": ["avx2", "fma"]}


def limit_instruction_set(name):
    """Of all programs that this one starts from here on; XLA_FLAGS are replaced."""
    os.environ.update(LIMITS[name])


def output_of(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def processor():
    """"AMD EPYC (family 25, model 17), AVX-512 with bf16\""""
    facts = dict(re.findall(r"^([^\t\n]+)\t*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE))
    flags = set(facts.get("flags", "").split())
    most = next((name for name, wanted in INSTRUCTION_SETS.items() if flags.issuperset(wanted)), "no AVX2")
    name, family, model = (facts.get(key, "?") for key in ("model name", "cpu family", "model"))
    return f"{name} (family {family}, model {model}), {most}"


def program_versions(shardrun):
    """"shardrun 0.1.0, build GCC 12.2.0, processor x86-64-v3, libraries Open MPI v4.1.4, oneDNN 2.6.3\""""
    lines = output_of(shardrun, "--version").splitlines()
    return ", ".join(re.sub(" +", " ", line) for line in lines if not line.startswith("commit"))


def package_versions(python, packages):
    """Of an environment: "jax 0.10.2, jaxlib 0.10.2"; of torch the oneDNN, too, that is built into it."""
    code = ("import sys; from importlib.metadata import version;"
            "print(*(f'{name} {version(name)}' for name in sys.argv[1:]), sep=', ')")
    versions = output_of(python, "-c", code, *packages)
    if "torch" in packages:
        built = re.search(r"MKL-DNN v([\d.]+)", output_of(python, "-c", "import torch; print(torch.__config__.show())"))
        versions += f" (oneDNN {built[1]})" if built else ""
    return versions


def heading(shardrun, limit=None):
    """The lines that say when, of which commit, where and with what was measured."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    commit = output_of("git", "-C", ROOT, "describe", "--always", "--dirty") or "unknown"
    variables = " ".join(f"{name}={value}" for name, value in LIMITS.get(limit, {}).items())
    limited = f"; all sides limited to {limit.upper()} (`{variables}`)" if limit else ""
    return [f"- {now}, commit {commit}", f"- {processor()}; {len(os.sched_getaffinity(0))} cores{limited}",
            f"- {program_versions(shardrun)}"]
