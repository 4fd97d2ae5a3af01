#!/usr/bin/env python3
"""Makes tests/golden/fine_tuning.json anew, or with --check compares it, from transformers and PyTorch on CPU: losses of
twenty steps of AdamW that train all parameters of a case of transformers_decoders.json, all but those whose names match
`frozen` (a regular expression), or the low-rank adapters of `lora` alone, as peft has them, in the modules whose last
names are `targets`; and the norms of the trained parameters behind them. Weights of adapters, too, are functions of name and index. Environment: as transformers_decoders.py says, and peft (0.21.2).

    ENV/bin/python tests/parity/fine_tuning.py --check
"""

import argparse
import json
import pathlib
import re
import sys

import peft
import torch
from transformers_decoders import DECAY, RATE, loss_of, make_model, weight_values

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "golden"
PATH = FOLDER / "fine_tuning.json"
STEPS = 20


def trained_parameters(model, case):
    if "lora" not in case:
        return {name: parameter for name, parameter in model.named_parameters()
                if not re.search(case.get("frozen", "^$"), name)}
    lora = case["lora"]
    peft.get_peft_model(model, peft.LoraConfig(r=lora["rank"], lora_alpha=lora["alpha"], target_modules=lora["targets"]))
    trained = {}
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                trained[name := name.replace(".default", "")] = parameter
                parameter.copy_(weight_values(name, tuple(parameter.shape)))
    return trained


def one_case(case, decoders):
    decoder = decoders[case["case"]]
    model = make_model(decoder["config"])
    trained = trained_parameters(model, case)
    for parameter in model.parameters():
        parameter.requires_grad_(any(parameter is one for one in trained.values()))
    optimizer = torch.optim.AdamW(trained.values(), lr=RATE, betas=(0.9, 0.999), eps=1e-8, weight_decay=DECAY)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        _, loss = loss_of(model, decoder)
        loss.backward()
        optimizer.step()
        losses.append(float(f"{float(loss.detach()):.9g}"))
    norms = {name: float(f"{float(parameter.detach().double().norm()):.9g}") for name, parameter in trained.items()}
    return {**case, "losses": losses, "norms": norms}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, say what differs")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    decoders = {case["name"]: case for case in json.loads((FOLDER / "transformers_decoders.json").read_text())}
    old = json.loads(PATH.read_text())
    new = [one_case(case, decoders) for case in old]
    if not arguments.check:
        PATH.write_text("[\n" + ",\n".join(json.dumps(case) for case in new) + "\n]\n")
        return
    failed = False
    for before, after in zip(old, new):
        apart = max(abs(a - b) / b for a, b in zip(before["losses"], after["losses"]))
        print(f"{before['case']}: losses differ by {apart:.1e}", flush=True)
        failed |= apart > 1e-5 or before["norms"].keys() != after["norms"].keys()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
