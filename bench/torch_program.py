"""What the peers of `shardrun train` in PyTorch have in common: they train a run file's system on CPU processes that talk
by gloo, and print one JSON object a step, as `shardrun train --jsonl` does. A program is given by

  make_model(options, parallel_size) -> module; module(tokens) -> logits (batch, sequence, vocabulary)
  load(model, arrays)                   {"params/Dense_0/kernel": array}, as `shardrun train --parameters` writes them
  blocks(model)                         the modules that FSDP gathers one by one
  make_data(run, given) -> batch        batch(step) -> (tokens, targets), whole; `given` is the file of --inputs, or None
  loss(logits, targets) -> loss, accuracy
  tensor_parallel_plan(model) -> {module name: style}, or None
"""

import argparse
import importlib
import json
import os
import tempfile
import time

from run_file_settings import apply_settings


def make_optimizer(options, parameters, fused):
    import torch

    # Optax's defaults: adamw decays every parameter by 1e-4.
    kind, decay = {"adam": (torch.optim.Adam, 0), "adamw": (torch.optim.AdamW, 1e-4)}[options["name"]]
    return kind(parameters, lr=options["learning_rate"], weight_decay=decay, fused=fused,
                foreach=False)


def spread(program, model, parallel, processes):
    """The model on all processes, as DDP, FSDP2 or tensor parallelism has it."""
    from torch.distributed.device_mesh import init_device_mesh

    if parallel == "ddp":
        from torch.nn.parallel import DistributedDataParallel

        return DistributedDataParallel(model)
    mesh = init_device_mesh("cpu", (processes,))
    if parallel == "fsdp":
        from torch.distributed.fsdp import fully_shard

        for block in program.blocks(model):
            fully_shard(block, mesh=mesh)
        return fully_shard(model, mesh=mesh)
    from torch.distributed.tensor.parallel import parallelize_module

    return parallelize_module(model, mesh, program.tensor_parallel_plan(model))


def train(rank, name, run, arguments, meeting):
    import torch
    import torch.distributed as dist

    program = importlib.import_module(name)
    processes = arguments.processes
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // processes))
    if processes > 1:
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=processes)
    torch.manual_seed(run["seed"])
    tensor_parallel = arguments.parallel == "tp"
    model = program.make_model(run["model"], processes if tensor_parallel else 1)
    if arguments.parameters:
        from safetensors.torch import load_file

        with torch.no_grad():
            program.load(model, load_file(arguments.parameters))
    if processes > 1:
        model = spread(program, model, arguments.parallel, processes)
    optimizer = make_optimizer(run["optimizer"], model.parameters(), fused=not tensor_parallel)
    whole = program.make_data(run, arguments.inputs)
    shares, share = (1, 0) if tensor_parallel else (processes, rank)

    def batch(step):
        return [array.chunk(shares)[share] for array in whole(step)]

    def losses(tokens, targets):
        with torch.autocast("cpu", torch.bfloat16, enabled=arguments.autocast):
            logits = model(tokens)
        return program.loss(logits.float(), targets)

    if arguments.compile:
        losses = torch.compile(losses)
    output = open(arguments.jsonl if rank == 0 else os.devnull, "w")
    for step in range(arguments.steps or run["steps"]):
        inputs = batch(step)
        start = time.perf_counter()
        loss, accuracy = losses(*inputs)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        numbers = torch.stack([loss.detach(), accuracy]) / processes
        if processes > 1:
            dist.all_reduce(numbers)
        loss, accuracy = numbers.tolist()
        milliseconds = 1000 * (time.perf_counter() - start)
        print(json.dumps({"step": step, "loss": loss, "accuracy": accuracy, "step_ms": milliseconds}), file=output,
              flush=True)
    output.close()
    if processes > 1:
        dist.destroy_process_group()


def main(name):
    """Of the program in the module of that name."""
    description = importlib.import_module(name).__doc__
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="run file, such as presets/tiny_lm_dp.json")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="change a value of the run file")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--parallel", choices=["ddp", "fsdp", "tp"], default="ddp", help="of several processes")
    parser.add_argument("--compile", action="store_true", help="torch.compile of the forward pass and the loss")
    parser.add_argument("--autocast", action="store_true", help="bf16 where PyTorch casts to it")
    parser.add_argument("--steps", type=int, help="default: the file's")
    parser.add_argument("--parameters", help="first values: a safetensors file of shardrun train --parameters")
    parser.add_argument("--inputs", help="arrays tokens and labels (.npz), where the kind of data needs JAX to draw them")
    parser.add_argument("--jsonl", default="/dev/stdout", help="where the steps go (default: standard output)")
    arguments = parser.parse_args()
    with open(arguments.file) as file:
        run = json.load(file)
    apply_settings(run, arguments.set)
    with tempfile.TemporaryDirectory() as folder:
        meeting = os.path.join(folder, "meeting")
        if arguments.processes == 1:
            return train(0, name, run, arguments, meeting)
        import torch.multiprocessing

        torch.multiprocessing.spawn(train, (name, run, arguments, meeting), nprocs=arguments.processes)
