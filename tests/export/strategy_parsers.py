#!/usr/bin/env python3
"""Reads what `shardrun export --to` writes of random strategies with the parsers of the programs it is for.

    python3 tests/export/strategy_parsers.py [--shardrun build/release/bin/shardrun] [--environments DIR] [--only NAME]

Each program is installed from PyPI into an environment of its own, in a temporary folder or in DIR, where the next run
finds it. Compared are the degrees, batches, schedule, ZeRO and recomputation that the program reads, and for Megatron
the groups of ranks, of all exported strategies. What cannot be installed is listed with its reason. torchtitan 0.3 has
no files of settings any more. Megatron Core holds the names and checks of Megatron-LM's arguments, not their parser;
MaxText asks for Python 3.12, and its settings are read by 3.11 as well.
"""

import argparse
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
AXES = ["pipeline", "data", "fsdp", "expert", "context", "tensor"]  # outermost first
BATCH, LAYERS = 1024, 32
PACKAGES = {
    "torchtitan": [["torch", "numpy", "tyro", "tomli", "tokenizers", "einops"], ["--no-deps", "torchtitan==0.2.2"]],
    "megatron": [["torch", "numpy", "packaging"], ["--no-deps", "megatron-core"]],
    "deepspeed": [["torch", "setuptools", "wheel"], ["--no-build-isolation", "deepspeed"]],
    "maxtext": [["jax", "flax", "omegaconf", "pydantic", "pyyaml", "jinja2", "packaging", "pathwaysutils"],
                ["--no-deps", "--ignore-requires-python", "maxtext"]],
}


def random_strategy(generator, devices=64):
    strategy, left = {}, devices
    for axis in generator.sample(AXES, len(AXES)):
        size = 1
        while 2 * size <= min(left, 8) and generator.randrange(3) == 0:
            size *= 2
        strategy[axis] = size
        left //= size
    if strategy["pipeline"] > 1:
        strategy["virtual_stages"] = generator.choice([1, 1, 2])
    if strategy.get("virtual_stages", 1) == 1 and generator.randrange(2):
        strategy["pipeline_schedule"] = "gpipe"
    strategy["sequence_parallel"] = generator.randrange(2) == 0
    if strategy["fsdp"] == 1:
        strategy["zero"] = generator.randrange(4)
    strategy["microbatch_size"] = generator.choice([1, 2])
    strategy["recompute"] = generator.choice(["none", "selective", "full"])
    if generator.randrange(4) == 0:
        strategy["order"] = ["data", "fsdp", "pipeline", "expert", "context", "tensor"]
    return strategy


def run_file(strategy):
    return {"version": 2, "seed": 0, "steps": 1,
            "model": {"name": "huggingface", "path": str(ROOT / "presets/models/mixtral-8x7b")},
            "data": {"kind": "synthetic_lm", "batch_size": BATCH, "seed": 0, "sequence_length": 4096},
            "optimizer": {"name": "adamw", "learning_rate": 0.001}, "strategy": strategy}


def replicas(strategy):
    return strategy["data"] * strategy["fsdp"] * strategy["expert"]


def device_count(strategy):
    return replicas(strategy) * strategy["tensor"] * strategy["context"] * strategy["pipeline"]


def microbatches(strategy):
    return BATCH // replicas(strategy) // strategy["microbatch_size"]


def portable(strategy):
    """As other programs know it: ZeRO 3 over replicas alone is fsdp, and of one device there is nothing to split."""
    same = dict(strategy)
    within = same["expert"] * same["context"]
    if same.get("zero") == 3 and within == 1:
        same.update(fsdp=same["data"], data=same["fsdp"], zero=0)
        renamed = {"data": "fsdp", "fsdp": "data"}
        same["order"] = [renamed.get(axis, axis) for axis in same.get("order", AXES)]
    if same["data"] * within == 1:
        same["zero"] = 0
    return same


def zero_stage(strategy):
    return strategy.get("zero", 0)


# What each program has to read of an exported strategy; what it reads is made by the function below of its name.


def expected_torchtitan(s):
    piped = s["pipeline"] > 1
    schedule = "Interleaved1F1B" if s.get("virtual_stages", 1) > 1 else \
        "GPipe" if s.get("pipeline_schedule") == "gpipe" else "1F1B"
    is_zero = zero_stage(s) == 3
    return {"data": 1 if is_zero else s["data"], "shards": (s["data"] if is_zero else s["fsdp"]) * s["expert"],
            "expert_tensor": s["tensor"] if s["expert"] > 1 else 1, "tensor": s["tensor"], "context": s["context"],
            "expert": s["expert"], "pipeline": s["pipeline"], "batch": BATCH, "recompute": s["recompute"],
            "accumulation": 1 if piped else microbatches(s), "devices": device_count(s),
            "pipeline_microbatch": s["microbatch_size"] if piped else None, "schedule": schedule if piped else None,
            "stages": s["pipeline"] * s.get("virtual_stages", 1)}


def read_torchtitan(path, s):
    from torch.distributed.pipelining.schedules import get_schedule_class
    from torchtitan.config import ConfigManager
    from torchtitan.distributed import ParallelDims

    config = ConfigManager().parse_args(["--job.config_file", path])
    p = config.parallelism
    ParallelDims(dp_replicate=p.data_parallel_replicate_degree, dp_shard=p.data_parallel_shard_degree,
                 cp=p.context_parallel_degree, tp=p.tensor_parallel_degree, pp=p.pipeline_parallel_degree,
                 ep=p.expert_parallel_degree, etp=p.expert_tensor_parallel_degree, world_size=device_count(s))
    piped = p.pipeline_parallel_degree > 1
    loaders = p.data_parallel_replicate_degree * p.data_parallel_shard_degree
    of_a_stage = p.pipeline_parallel_layers_per_stage
    return {"data": p.data_parallel_replicate_degree, "shards": p.data_parallel_shard_degree,
            "tensor": p.tensor_parallel_degree, "context": p.context_parallel_degree,
            "expert_tensor": p.expert_tensor_parallel_degree,
            "expert": p.expert_parallel_degree, "pipeline": p.pipeline_parallel_degree,
            "batch": config.training.global_batch_size, "recompute": config.activation_checkpoint.mode,
            "accumulation": config.training.global_batch_size // (config.training.local_batch_size * loaders),
            "devices": loaders * p.context_parallel_degree * p.tensor_parallel_degree * p.pipeline_parallel_degree,
            "pipeline_microbatch": p.pipeline_parallel_microbatch_size if piped else None,
            "schedule": get_schedule_class(p.pipeline_parallel_schedule).__name__.replace("Schedule", "")
            if piped else None,
            "stages": math.ceil((LAYERS + p.pipeline_parallel_first_stage_less_layers +
                                 p.pipeline_parallel_last_stage_less_layers) / of_a_stage)
            if of_a_stage else p.pipeline_parallel_degree}


def expected_megatron(s):
    order = s.get("order", AXES)
    ranks = list(range(device_count(s)))
    place = {}
    for rank in ranks:
        rest = rank
        for axis in reversed(order):
            place[rank, axis] = rest % s[axis]
            rest //= s[axis]

    def groups(axes):
        found = {}
        for rank in ranks:
            found.setdefault(tuple(place[rank, axis] for axis in order if axis not in axes), []).append(rank)
        return sorted(found.values())

    return {"tensor": s["tensor"], "pipeline": s["pipeline"], "context": s["context"], "expert": s["expert"],
            "virtual": s.get("virtual_stages", 1) if s["pipeline"] > 1 else 1,
            "sequence": s["sequence_parallel"] and s["tensor"] > 1,
            "recompute": s["recompute"], "microbatches": microbatches(s),
            "zero": 3 if s["fsdp"] > 1 else zero_stage(s), "instances": s["data"] if s["fsdp"] > 1 else 1,
            "groups": [groups(["tensor"]), groups(["pipeline"]), groups(["context"]),
                       groups(["data", "fsdp", "expert"])]}


def read_megatron(path, s):
    import dataclasses

    from megatron.core.distributed import DistributedDataParallelConfig
    from megatron.core.num_microbatches_calculator import ConstantNumMicroBatchesCalculator
    from megatron.core.optimizer import OptimizerConfig
    from megatron.core.parallel_state import RankGenerator
    from megatron.core.transformer.transformer_config import TransformerConfig

    words = " ".join(line.split("#")[0] for line in open(path).read().splitlines()).split()
    arguments = {}
    for i, word in enumerate(words):
        if word.startswith("--"):
            last = i + 1 == len(words) or words[i + 1].startswith("--")
            value = True if last else words[i + 1]
            arguments[word[2:].replace("-", "_")] = int(value) if str(value).isdigit() else value
    # Of Megatron-LM's training/arguments.py alone.
    virtual = arguments.pop("num_virtual_stages_per_pipeline_rank", 1)
    if virtual > 1:
        arguments["virtual_pipeline_model_parallel_size"] = virtual
    replicas_first = arguments.pop("use_tp_pp_dp_mapping", False)
    micro, batch = arguments.pop("micro_batch_size"), arguments.pop("global_batch_size")
    if arguments.get("use_megatron_fsdp") and arguments.pop("ckpt_format") != "fsdp_dtensor":
        raise ValueError("Megatron-FSDP requires the fsdp_dtensor checkpointing format")

    def made(kind, **fixed):
        names = {f.name for f in dataclasses.fields(kind)}
        return kind(**fixed, **{name: value for name, value in arguments.items() if name in names})

    kinds = [TransformerConfig, DistributedDataParallelConfig, OptimizerConfig]
    known = {f.name for kind in kinds for f in dataclasses.fields(kind)}
    unknown = set(arguments) - known
    if unknown:
        raise ValueError(f"no such arguments: {sorted(unknown)}")
    dtype = {}
    if arguments.get("sequence_parallel") or arguments.get("pipeline_model_parallel_size", 1) > 1:
        import torch
        dtype = {"pipeline_dtype": torch.bfloat16}
    model = made(TransformerConfig, num_layers=LAYERS, hidden_size=512, num_attention_heads=64, num_moe_experts=8,
                 add_bias_linear=False, **dtype)
    data = made(DistributedDataParallelConfig)
    made(OptimizerConfig)
    t, p, c, e = (model.tensor_model_parallel_size, model.pipeline_model_parallel_size, model.context_parallel_size,
                  model.expert_model_parallel_size)
    dp = device_count(s) // (t * p * c)
    order = "tp-cp-ep-pp-dp" if replicas_first else "tp-cp-ep-dp-pp"
    ranks = RankGenerator(tp=t, ep=1, dp=dp, pp=p, cp=c, order=order)
    shards = data.data_parallel_sharding_strategy if data.use_megatron_fsdp else "no_shard"
    zero = {"no_shard": 1 if data.use_distributed_optimizer else 0, "optim": 1, "optim_grads": 2,
            "optim_grads_params": 3}[shards]
    return {"tensor": t, "pipeline": p, "context": c, "expert": e,
            "virtual": model.virtual_pipeline_model_parallel_size or 1, "sequence": model.sequence_parallel,
            "recompute": model.recompute_granularity or "none",
            "microbatches": ConstantNumMicroBatchesCalculator(batch, micro, dp, False, 0).get(), "zero": zero,
            "instances": data.num_distributed_optimizer_instances,
            "groups": [sorted(ranks.get_ranks(name)) for name in ("tp", "pp", "cp", "dp")]}


def expected_deepspeed(s):
    return {"batch": BATCH, "micro": s["microbatch_size"], "accumulation": microbatches(s),
            "zero": 3 if s["fsdp"] > 1 else zero_stage(s), "tensor": s["tensor"]}


def read_deepspeed(path, s):
    from deepspeed import comm
    from deepspeed.runtime.config import DeepSpeedConfig

    class Replicas:
        @staticmethod
        def get_data_parallel_world_size():
            return replicas(s)

    comm.get_rank = lambda group=None: 0
    config = DeepSpeedConfig(path, mpu=Replicas)
    return {"batch": config.train_batch_size, "micro": config.train_micro_batch_size_per_gpu,
            "accumulation": config.gradient_accumulation_steps, "zero": int(config.zero_config.stage),
            "tensor": max(1, config.tensor_parallel_config.autotp_size)}


def expected_maxtext(s):
    piped = s["pipeline"] > 1
    is_zero = zero_stage(s) == 3
    return {"data": 1 if is_zero else s["data"], "fsdp": s["data"] if is_zero else s["fsdp"], "tensor": s["tensor"],
            "context": s["context"], "expert": s["expert"], "pipeline": s["pipeline"],
            "sequence": s["sequence_parallel"] and s["tensor"] > 1,
            "batch": BATCH, "microbatches": microbatches(s), "zero": 0 if is_zero else zero_stage(s),
            "repeats": 1 if piped else None, "recompute": s["recompute"]}


def read_maxtext(path, s):
    import maxtext.configs
    from maxtext.configs import pyconfig

    base = pathlib.Path(maxtext.configs.__path__[0]) / "base.yml"
    own = path + ".run.yml"
    pathlib.Path(own).write_text(
        f"base_config: {base}\n{pathlib.Path(path).read_text()}run_name: x\nskip_jax_distributed_system: true\n"
        f"internal_compile: true\ninternal_compile_num_devices: {device_count(s)}\nenable_checkpointing: false\n"
        f"dataset_type: synthetic\nbase_num_decoder_layers: {LAYERS}\nnum_experts: 8\n"
        "base_moe_mlp_dim: 512\nbase_mlp_dim: 512\n")
    c = pyconfig.initialize(["maxtext", own])
    piped = c.ici_pipeline_parallelism > 1
    return {"data": c.ici_data_parallelism, "fsdp": c.ici_fsdp_parallelism, "context": c.ici_context_parallelism,
            "tensor": c.ici_tensor_parallelism * c.ici_tensor_sequence_parallelism,
            "expert": c.ici_expert_parallelism, "pipeline": c.ici_pipeline_parallelism,
            "sequence": c.ici_tensor_sequence_parallelism > 1, "batch": c.global_batch_size_to_train_on,
            "microbatches": c.num_pipeline_microbatches if piped else c.gradient_accumulation_steps,
            "zero": int(c.shard_optimizer_over_data), "repeats": c.num_pipeline_repeats if piped else None,
            "recompute": "full" if piped and not c.remat_policy and c.set_remat_policy_on_pipeline_iterations else
            {"minimal": "selective", None: "none"}.get(c.remat_policy, c.remat_policy)}


def read_all(program, folder):
    """In the program's environment: what it reads of each file, as one JSON object."""
    read = globals()["read_" + program]
    result = {}
    for path in sorted(pathlib.Path(folder).glob("*.strategy")):
        strategy = json.loads(path.with_suffix(".json").read_text())["strategy"]
        try:
            result[path.stem] = read(str(path), strategy)
        except (Exception, SystemExit) as error:  # whatever a parser does of a file that it refuses
            result[path.stem] = {"refused": f"{type(error).__name__}: {error}"}
    pathlib.Path(folder, "read").write_text(json.dumps(result))


def environment(program, parent):
    """The path of its Python; a text where it cannot be installed."""
    folder = pathlib.Path(parent, program)
    python = folder / "bin/python"
    if python.exists():
        return python, ""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    for packages in PACKAGES[program]:
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], capture_output=True, text=True,
                              env={**os.environ, "DS_BUILD_OPS": "0"})
        if done.returncode:
            return None, (done.stderr.strip().splitlines() or ["pip failed"])[-1]
    return python, ""


def check(program, python, shardrun, count):
    """Prints what differs; how many do."""
    generator = random.Random(1)
    expected = {}
    refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            strategy = random_strategy(generator)
            path = pathlib.Path(folder, f"{i}.json")
            path.write_text(json.dumps(run_file(strategy)))
            out = path.with_suffix(".strategy")
            if subprocess.run([shardrun, "export", path, "--to", program, out], capture_output=True).returncode:
                refused += 1
                continue
            expected[str(i)] = globals()["expected_" + program](portable(strategy))
        done = subprocess.run([python, __file__, "--read", program, folder], capture_output=True, text=True,
                              env={**os.environ, "JAX_PLATFORMS": "cpu"})
        if done.returncode:
            print(f"{program}: {done.stderr.strip().splitlines()[-1]}")
            return 1
        read = json.loads(pathlib.Path(folder, "read").read_text())
        wrong = [name for name in expected if read[name] != expected[name]]
        for name in wrong[:5]:
            text = pathlib.Path(folder, name + ".strategy").read_text()
            differing = {key: (read[name].get(key), value) for key, value in expected[name].items()
                         if read[name].get(key) != value}
            print(f"{program} reads {read[name].get('refused', differing)} of\n{text}")
        print(f"{program}: {len(expected) - len(wrong)} of {len(expected)} exported strategies are read as they were "
              f"meant, {refused} of {count} cannot be said")
        return len(wrong) + (not expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shardrun", default=ROOT / "build/release/bin/shardrun")
    parser.add_argument("--environments", help="folder of the environments; kept")
    parser.add_argument("--only", choices=PACKAGES)
    parser.add_argument("--count", type=int, default=300, help="random strategies of each program")
    parser.add_argument("--read", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        return read_all(*arguments.read)
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        for program in [arguments.only] if arguments.only else PACKAGES:
            python, reason = environment(program, arguments.environments or temporary)
            if not python:
                print(f"{program}: not checked, it cannot be installed: {reason}")
            else:
                wrong += check(program, python, arguments.shardrun, arguments.count)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
