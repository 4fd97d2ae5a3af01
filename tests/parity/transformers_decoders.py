#!/usr/bin/env python3
"""Makes tests/golden/transformers_decoders.json anew, or with --check compares it, from transformers and PyTorch on CPU.

Each case has a config, tokens and labels; this program computes in f32 what transformers makes of them: logits, the
norm of every gradient and its dot products with eight arrays of signs, and the losses of ten steps of AdamW. Weights
are a function of name and index (weight_values), which the test computes too, so that no file holds them.

    python3 -m venv ENV && ENV/bin/pip install torch transformers && ENV/bin/python tests/parity/transformers_decoders.py --check

What is in the repository was made with transformers 5.23.0 and PyTorch 2.8.0.
"""

import argparse
import json
import pathlib
import sys

import numpy
import torch
import transformers

PATH = pathlib.Path(__file__).resolve().parent.parent / "golden/transformers_decoders.json"
STEPS, RATE, DECAY = 10, 1e-3, 0.1
PROJECTIONS = 8


def hashes(name, count):
    """A 32-bit hash of each index, seeded by FNV-1a of the name."""
    seed = 2166136261
    for byte in name.encode():
        seed = (seed ^ byte) * 16777619 % 2**32
    x = (numpy.arange(count, dtype=numpy.uint64) * 2654435761 + seed) % 2**32
    for shift, factor in ((16, 2246822519), (13, 3266489917), (16, 1)):
        x = (x ^ (x >> shift)) * factor % 2**32
    return x


def weight_values(name, shape):
    """Uniform in [-0.3, 0.3); one-dimensional weights are of norms, around 1."""
    count = int(numpy.prod(shape))
    values = (hashes(name, count).astype(numpy.float64) / 2**31 - 1) * 0.3
    if len(shape) == 1 and name.endswith("weight"):
        values += 1
    return torch.tensor(values.astype(numpy.float32)).reshape(shape)


def signs(name, projection, count):
    return torch.tensor(numpy.where(hashes(f"{name}/{projection}", count) >= 2**31, 1.0, -1.0))


def make_model(config):
    settings = {key: value for key, value in config.items() if key != "model_type"}
    made = transformers.AutoConfig.for_model(config["model_type"], **settings)
    made._attn_implementation = made._experts_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(made).float().train()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weight_values(name, tuple(parameter.shape)))
    return model


def loss_of(model, case):
    outputs = model(input_ids=torch.tensor(case["tokens"]), use_cache=False)
    logits, balance = outputs.logits, getattr(outputs, "aux_loss", None)
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.tensor(case["labels"]).flatten())
    return logits, loss if balance is None else loss + model.config.router_aux_loss_coef * balance


def one_case(case):
    torch.manual_seed(0)
    model = make_model(case["config"])
    logits, loss = loss_of(model, case)
    loss.backward()
    gradients = {}
    for name, parameter in model.named_parameters():
        gradient = parameter.grad.flatten().double()
        dots = [float(gradient @ signs(name, i, gradient.numel())) for i in range(PROJECTIONS)]
        gradients[name] = [float(gradient.norm()), *dots]
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.999), eps=1e-8, weight_decay=DECAY)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        _, loss = loss_of(model, case)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    shorten = lambda values: [float(f"{value:.9g}") for value in values]
    return {
        **case,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "logits": shorten(logits.flatten().tolist()),
        "gradients": {name: shorten(values) for name, values in gradients.items()},
        "losses": shorten(losses),
    }


def differences(old, new):
    """Places where results differ by more than rounding may: 1e-5 of logits and losses, 1e-4 of a gradient's norm."""
    found = [] if old["parameters"] == new["parameters"] else ["parameters"]
    found += [f"logits[{i}]" for i, (a, b) in enumerate(zip(old["logits"], new["logits"])) if abs(a - b) > 1e-5]
    found += [f"losses[{i}]" for i, (a, b) in enumerate(zip(old["losses"], new["losses"])) if abs(a - b) > 1e-5]
    if old["gradients"].keys() != new["gradients"].keys():
        return found + ["gradients"]
    for name, values in old["gradients"].items():
        room = 1e-4 * values[0] + 1e-8
        found += [f"gradients.{name}"] if any(abs(a - b) > room for a, b in zip(values, new["gradients"][name])) else []
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, say what differs")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    old = json.loads(PATH.read_text())
    failed, new = False, []
    for case in old:
        new.append(one_case(case))
        if arguments.check:
            found = differences(case, new[-1])
            failed |= bool(found)
            print(f"{case['name']}: {len(found)} differences", *found[:10], sep="\n  ", flush=True)
    if not arguments.check:
        PATH.write_text("[\n" + ",\n".join(json.dumps(case) for case in new) + "\n]\n")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
