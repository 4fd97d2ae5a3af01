"""Run files for published measurements: what a row of bench/truth_data/measurements.json says, as a run file and a
config.json. Plans nothing itself.

A row is left out with a reason where it does not say enough (Missing) or says what the program does not have.
"""

import re

DEVICES = [("H100 96GB", "h100_96gb_hbm2e"), ("GB200", "gb200_nvl72"), ("GB300", "gb300"), ("B200", "b200"),
           ("B300", "b300"), ("H200", "h200"), ("H100", "dgx_h100"), ("A100 80GB", "dgx_a100_80gb"),
           ("A100_80GB", "dgx_a100_80gb"), ("A100_40GB", "dgx_a100_40gb"), ("TPU v5e", "tpu_v5e"), ("TPU v5p", "tpu_v5p"),
           ("TPU v4", "tpu_v4"), ("TPU v6e", "tpu_v6e"), ("TPU7x", "tpu_7x")]
STACKS = {"dgxc_benchmarking": "megatron", "korthikanti_2022": "megatron", "megatron_2021_table1": "megatron",
          "megatron_bridge": "megatron", "nanotron_old_bench": "nanotron_2024", "ultrascale_playbook": "nanotron",
          "torchtitan": "torchtitan", "llm_foundry": "llm_foundry", "maxtext_readme": "maxtext",
          "tpu_recipes": "maxtext"}
# Of before flash attention: scores are an array. (Narayanan et al. 2021; Korthikanti et al. 2022.)
STORED_SCORES = ("korthikanti_2022", "megatron_2021_table1")
# Vocabularies of models that a row names and does not give: that of GPT-2's tokens, padded as Megatron does (to a
# multiple of 128 tensor-parallel ranks); notes of the rows of Llama 3.1 405B say that they use it.
GPT2_VOCABULARY = 50257
VOCABULARIES = {"GPT-3 175B": GPT2_VOCABULARY, "Llama 3.1 405B": GPT2_VOCABULARY}
# What a row does not give of a mixture of experts, and the settings of its source do: NVIDIA/dgxc-benchmarking v24.11.1,
# grok1/grok1_314b.yaml (activation fast-geglu, the tokenizer of Llama 3, moe_expert_capacity_factor).
MIXTURES = {"Grok-1 314B MoE": {"activation": "gelu-gated", "vocab": 128256, "tied_embeddings": False, "experts": 8,
                                "chosen": 2, "capacity_factor": 1.0}}
# Rows without the strategy that their source has, by the end of its address: the heading of its table says TP=4, PP=8,
# MBS=1, VP=12, and GBS=512 on 256 devices (NVIDIA/dgxc-benchmarking v25.04, read on 2026-11-28; its settings,
# gpt3_175b_hydra.yaml, are those of the rows of v25.02: distributed optimizer, sequence_parallel, no recomputation).
STRATEGIES = {"v25.04/nemo_megatron/README_175b.md": {
    "tp": 4, "pp": 8, "cp": 1, "vp": 12, "zero": "distributed optimizer", "sequence_parallel": True,
    "micro_batch": 1, "batch_of_device": 2}}
GATED = ("silu-gated", "swiglu")
MIXTURE_NAMES = ("MoE", "DeepSeek", "deepseek", "Mixtral", "A3B", "a3B", "a22b", "oss", "Maverick")
# torchtitan's selective_ac_option "op", the default of its Llama configurations: of a block's products the first, third,
# ... are kept, and attention (torchtitan/parallelisms/parallelize_llama.py, _get_custom_policy, of December 2024). As
# names of ops: queries, values, gates and down projections are kept, all else is recomputed.
EVERY_SECOND_PRODUCT = ["**/*_layernorm/**", "**/rotary", "**/{k_proj,o_proj,up_proj}/{einsum,cast}",
                        "**/{q_proj,o_proj,gate_proj,down_proj}/einsum/cast", "**/{silu,multiply,add_attention}"]


class Missing(Exception):
    """Why a row is left out."""


class Outside(Missing):
    """The goals speak of rows whose recomputation is none, selective or full, and whose family and precision the program
    has; of this one they do not."""


def of(row, *path):
    value = row
    for key in path:
        value = (value or {}).get(key)
        if value is None:
            raise Missing(f"no {'.'.join(path)}")
    return value


def count(row, key):
    return row["parallelism"].get(key) or 1


def machine(row):
    for text, name in DEVICES:
        if text.lower() in row["hardware"].lower():
            return name
    raise Missing(f"no machine for {row['hardware']}")


def recompute(row):
    if not row.get("recompute"):
        raise Outside("no recompute")
    text = str(row["recompute"]).lower()
    kinds = [kind for kind in ("none", "selective", "full") if text.startswith(kind)]
    if not kinds:
        raise Outside("recompute is none of none, selective, full")
    return EVERY_SECOND_PRODUCT if kinds[0] == "selective" and row["set"] == "torchtitan" else kinds[0]


def completed(row):
    """The row with what its source says of its mixture of experts, and of a strategy that the row lacks."""
    known = MIXTURES.get(row["model"].get("name"), {})
    row = {**row, "model": {**row["model"], **{key: value for key, value in known.items()
                                               if row["model"].get(key) is None}}}
    for source, strategy in STRATEGIES.items():
        if row["source"]["address"].endswith(source) and not row.get("micro_batch"):
            splits = {key: value for key, value in strategy.items() if key not in ("micro_batch", "batch_of_device")}
            row.update(micro_batch=strategy["micro_batch"], global_batch=strategy["batch_of_device"] * row["gpus"],
                       parallelism={"dp": row["gpus"] // (splits["tp"] * splits["pp"]), **splits})
    return row


def paper_vocabulary(row):
    vocabulary = row["model"].get("vocab")
    if vocabulary:
        return vocabulary
    if row["model"].get("name") not in VOCABULARIES:
        raise Missing("no model.vocab")
    multiple = 128 * count(row, "tp")
    return -(-VOCABULARIES[row["model"]["name"]] // multiple) * multiple


def padded_vocabulary(row):
    """A vocabulary that tensor parallelism splits evenly, as all stacks pad it."""
    vocabulary = paper_vocabulary(row)
    tensor = count(row, "tp")
    return -(-vocabulary // tensor) * tensor


def model_config(row):
    """The config.json of a row. Throws Missing; Outside first."""
    recompute(row), precision(row)
    layers, width, heads = (of(row, "model", key) for key in ("layers", "hidden", "heads"))
    name = row["model"].get("name") or ""
    activation, inner = of(row, "model", "activation"), of(row, "model", "ffn")
    vocabulary, length = padded_vocabulary(row), of(row, "seq_len")
    tied = bool(row["model"].get("tied_embeddings"))
    experts = row["model"].get("experts")
    if not experts and any(word in name for word in MIXTURE_NAMES):
        raise Missing("no number of experts in the row")
    common = {"hidden_size": width, "intermediate_size": inner, "num_hidden_layers": layers, "num_attention_heads": heads,
              "num_key_value_heads": row["model"].get("kv_heads") or heads, "vocab_size": vocabulary,
              "max_position_embeddings": length, "tie_word_embeddings": tied}
    if row["model"].get("head_dim"):
        common["head_dim"] = row["model"]["head_dim"]
    if experts:
        return {"model_type": "mixtral", **common, "num_local_experts": experts,
                "num_experts_per_tok": of(row, "model", "chosen"),
                "hidden_act": "gelu_pytorch_tanh" if activation == "gelu-gated" else "silu"}
    if activation in GATED:
        return {"model_type": "llama", **common}
    if activation == "squared-relu":
        return {"model_type": "nemotron", **common, "hidden_act": "relu2"}
    if activation == "gelu" and name.startswith("MPT"):
        return {"model_type": "mpt", "d_model": width, "n_heads": heads, "n_layers": layers, "vocab_size": vocabulary,
                "max_seq_len": length, "tie_word_embeddings": tied}
    if activation == "gelu":
        # GPT with biases and layer norms. The family gpt2 holds queries, keys and values in one array, which tensor
        # parallelism cannot split by heads; this one has rotary positions in place of a table.
        return {"model_type": "nemotron", **common, "tie_word_embeddings": True, "hidden_act": "gelu",
                "attention_bias": True, "mlp_bias": True}
    raise Outside(f"no family with the activation {activation}")


def precision(row):
    text = of(row, "dtype").lower()
    if "mxfp8" in text or "nvfp4" in text:
        raise Outside(f"no precision {row['dtype']}")
    own_masters = row["set"] in ("llm_foundry", "torchtitan", "maxtext_readme", "tpu_recipes")
    if "fp8" in text or "float8" in text:
        return {"compute": "f8", "parameters": "f32"} if own_masters else "fp8_mixed"
    if "fp16" in text and "bf16" not in text:
        return "f16_mixed"
    return {"compute": "bf16", "parameters": "f32"} if own_masters else "bf16_mixed"


def microbatch(row):
    """Sequences of one replica at a time."""
    if row.get("micro_batch"):
        return row["micro_batch"]
    raise Missing("no micro_batch")


def global_batch(row):
    if row.get("global_batch"):
        return row["global_batch"]
    return microbatch(row) * (row.get("grad_accum") or 1) * count(row, "dp")


def strategy(row):
    parallel = row["parallelism"]
    data, fsdp = count(row, "dp"), parallel.get("fsdp") or 1
    if not isinstance(fsdp, int):
        raise Missing(f"fsdp is {fsdp}")
    zero = str(parallel.get("zero"))
    found = {"tensor": count(row, "tp"), "pipeline": count(row, "pp"), "context": count(row, "cp"),
             "expert": count(row, "ep")}
    # Rows count the ranks that share experts among the replicas.
    if data % found["expert"]:
        raise Missing(f"{data} replicas for experts over {found['expert']}")
    data //= found["expert"]
    if zero == "SHARD_GRAD_OP":
        found.update(data=data, zero=2)
    elif fsdp > 1:
        # Of some rows dp counts all replicas, of others those beside FSDP.
        found.update(fsdp=fsdp, data=data // fsdp if data * found["tensor"] * found["pipeline"] * found["context"] ==
                     devices(row) and data % fsdp == 0 else data)
    else:
        found.update(data=data, zero=1 if zero.startswith("distributed") or zero == "1" else 0)
    if found["pipeline"] > 1:
        chunks = parallel.get("vp") or 1
        found.update(virtual_stages=chunks, pipeline_schedule="interleaved" if chunks > 1 else "1f1b")
    sequence = parallel.get("sequence_parallel")
    found["sequence_parallel"] = bool(sequence if sequence is not None else row["set"] == "torchtitan")
    found["microbatch_size"] = microbatch(row)
    found["recompute"] = recompute(row)
    product = 1
    for axis in ("data", "fsdp", "expert", "tensor", "pipeline", "context"):
        product *= found.get(axis, 1)
    if product != devices(row):
        raise Missing(f"{product} devices by its parallelism, {devices(row)} by its hardware")
    said = {key: value for key, value in found.items()
            if value is True or value not in (1, False) or key in ("microbatch_size", "recompute")}
    if found.get("zero"):
        said["zero"] = found["zero"]
    # As all these stacks number their ranks.
    said["order"] = [axis for axis in ("pipeline", "data", "fsdp", "expert", "context", "tensor")
                     if found.get(axis, 1) > 1]
    return said


def devices(row):
    """Chips: rows of v4 and v5p count tensor cores, two of each chip."""
    if row.get("slices") and re.search(r"v4-|v5p-", row["hardware"]):
        return of(row, "gpus") // (1 if count(row, "dp") * count(row, "tp") * (row["parallelism"].get("fsdp") or 1) ==
                                   row["gpus"] else 2)
    return of(row, "gpus")


def stack(row):
    found = {"name": STACKS[row["set"]]}
    if row["set"] in STORED_SCORES:
        found["attention"] = {"kernel": "scores"}
    if "async tp" in row["notes"].lower() or "asynctp" in row["notes"].lower():
        found["overlap"] = {"tensor": True}
    if "rowwise" in str(row.get("dtype")).lower():
        found["products"] = {"scales": "row"}
    # Notes of torchtitan's first table list what a row has, "FSDP + torch.compile"; those of its others leave out what
    # all rows of a table have.
    if row["set"] == "torchtitan" and row["notes"].startswith("FSDP") and "compile" not in row["notes"]:
        found["fusion"] = {"elementwise": False}
    return found["name"] if len(found) == 1 else found


def nanotron_layers(row, stages):
    """Layers of each stage as nanotron gives blocks to ranks (nanotron/models/base.py, build_model): in order, by the sizes
    of products, each rank until its share of the sum is exceeded. Where that leaves a rank without layers, which a plan
    cannot have, one of the fullest rank behind the first is moved there."""
    width, inner, heads = (row["model"][key] for key in ("hidden", "ffn", "heads"))
    layer, head = 4 * width * width + 3 * width * inner, width * row["model"]["vocab"]
    costs = [0] + [layer] * row["model"]["layers"] + [0, head, 0]
    layers, rank, so_far = [0] * stages, 0, 0
    for i, cost in enumerate(costs):
        so_far += cost
        layers[rank] += 1 <= i <= row["model"]["layers"]
        if rank + 1 < stages and so_far > sum(costs) * (rank + 1) / stages:
            rank += 1
    while 0 in layers:
        layers[layers.index(max(layers[1:]), 1)] -= 1
        layers[layers.index(0)] += 1
    return layers


def layers_of_stages(row, stages, chunks):
    layers = row["model"]["layers"]
    if STACKS[row["set"]].startswith("nanotron"):
        return nanotron_layers(row, stages)
    return [layers // (stages * chunks)] * stages * chunks if layers % (stages * chunks) == 0 else None


def run_file(row, model_path):
    """The run file of a row. Throws Missing."""
    splits = strategy(row)
    run = {"model": {"name": "huggingface", "path": model_path, "initialise": "random"},
           "data": {"kind": "zeros", "batch_size": global_batch(row), "sequence_length": of(row, "seq_len")},
           "optimizer": {"name": "adamw", "learning_rate": 1e-4},
           "precision": precision(row), "strategy": splits, "machine": machine(row), "stack": stack(row),
           "seed": 0, "steps": 1}
    if row["model"].get("capacity_factor"):
        run["model"]["capacity_factor"] = row["model"]["capacity_factor"]
    # torchtitan gathers keys and values by default (context_parallel_rotate_method); the others pass them on.
    if splits.get("context", 1) > 1:
        run["model"]["context_attention"] = "gather" if STACKS[row["set"]] == "torchtitan" else "ring"
    stages = splits.get("pipeline", 1)
    layers = layers_of_stages(row, stages, splits.get("virtual_stages", 1)) if stages > 1 else None
    if layers:
        run["pipeline"] = {"axis": "pipeline", "layers": layers}
    return run


def measured_seconds(row):
    """Of a step; None where the row has neither that nor tokens per second."""
    if row.get("step_ms"):
        return row["step_ms"] / 1000
    if row.get("tokens_per_sec_per_gpu") and row.get("seq_len"):
        return global_batch(row) * row["seq_len"] / row["tokens_per_sec_per_gpu"] / row["gpus"]
    return None


def measured_memory(row):
    """(bytes, "first stage" or "largest"); None where the row has none."""
    if not row.get("memory_mib"):
        return None
    what = row.get("memory_what") or ""
    return row["memory_mib"] * 2**20, "first stage" if "rank 0" in what else "largest"
