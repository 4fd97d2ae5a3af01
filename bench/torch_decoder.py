"""Decoders of presets llama_tiny and mixtral_tiny in PyTorch, as transformers' LlamaForCausalLM and MixtralForCausalLM:
eager or compiled in one process, DDP or FSDP2 on several. Modules are named as in published files; each expert takes its
tokens by index, as in transformers. A peer of `shardrun train`: see bench/torch_program.py.
"""

import json
import pathlib

import torch
import torch.nn.functional as F
from torch import nn

import torch_program

PRESETS = pathlib.Path(__file__).resolve().parent.parent / "presets"


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, self.heads, self.key_heads = (
            config[key] for key in ("hidden_size", "num_attention_heads", "num_key_value_heads"))
        self.size, self.theta = width // self.heads, config["rope_theta"]
        self.q_proj, self.o_proj = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.k_proj, self.v_proj = (nn.Linear(width, self.key_heads * self.size, bias=False) for _ in range(2))

    def rotate(self, x):
        half = self.size // 2
        angles = (torch.arange(x.shape[2])[:, None] * self.theta ** -(torch.arange(half) / half)).repeat(1, 2)
        return x * angles.cos() + torch.cat([-x[..., half:], x[..., :half]], -1) * angles.sin()

    def forward(self, x):
        q, k, v = (part(x).unflatten(-1, (-1, self.size)).transpose(1, 2)
                   for part in (self.q_proj, self.k_proj, self.v_proj))
        k, v = (part.repeat_interleave(self.heads // self.key_heads, 1) for part in (k, v))
        context = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True)
        return self.o_proj(context.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, inner = config["hidden_size"], config["intermediate_size"]
        self.gate_proj, self.up_proj = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Experts(nn.Module):
    def __init__(self, config):
        super().__init__()
        count, width, inner = (config[key] for key in ("num_local_experts", "hidden_size", "intermediate_size"))
        self.gate_up_proj = nn.Parameter(0.02 * torch.randn(count, 2 * inner, width))
        self.down_proj = nn.Parameter(0.02 * torch.randn(count, width, inner))

    def forward(self, x, choices, weights):
        y = torch.zeros_like(x)
        for expert in range(len(self.down_proj)):
            token, slot = torch.where(choices == expert)
            gate, up = F.linear(x[token], self.gate_up_proj[expert]).chunk(2, -1)
            made = F.linear(F.silu(gate) * up, self.down_proj[expert]) * weights[token, slot, None]
            y.index_add_(0, token, made.to(y.dtype))
        return y


class Mixture(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.k = config["num_experts_per_tok"]
        self.gate = nn.Linear(config["hidden_size"], config["num_local_experts"], bias=False)
        self.experts = Experts(config)

    def forward(self, x):
        rows = x.flatten(0, 1)
        weights, choices = F.softmax(self.gate(rows), -1).topk(self.k, -1)
        return self.experts(rows, choices, weights / weights.sum(-1, keepdim=True)).unflatten(0, x.shape[:2])


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, epsilon = config["hidden_size"], config["rms_norm_eps"]
        self.input_layernorm, self.post_attention_layernorm = (nn.RMSNorm(width, eps=epsilon) for _ in range(2))
        self.self_attn = Attention(config)
        self.mlp = (Mixture if "num_local_experts" in config else FeedForward)(config)

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))


class Decoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, words = config["hidden_size"], config["vocab_size"]
        self.model = nn.ModuleDict({
            "embed_tokens": nn.Embedding(words, width),
            "layers": nn.ModuleList(Layer(config) for _ in range(config["num_hidden_layers"])),
            "norm": nn.RMSNorm(width, eps=config["rms_norm_eps"])})
        self.lm_head = nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.model["embed_tokens"](tokens)
        for layer in self.model["layers"]:
            x = layer(x)
        return self.lm_head(self.model["norm"](x))


def make_model(options, parallel_size):
    config = json.loads((PRESETS / options["path"] / "config.json").read_text())
    return Decoder({**config, **options.get("overrides", {})})


def load(model, arrays):
    found = {name.removeprefix("params/").replace("/", "."): value for name, value in arrays.items()}
    model.load_state_dict({name: found[name].reshape(value.shape) for name, value in model.state_dict().items()})


def blocks(model):
    return model.model["layers"]


def make_data(run, given):
    """numpy_batches."""
    import numpy

    data = run["data"]
    words = make_model(run["model"], 1).lm_head.weight.shape[0]
    whole = torch.from_numpy(numpy.random.RandomState(data["seed"]).randint(
        0, words, (data["dataset_size"], data["sequence_length"]), dtype=numpy.int32)).long()
    size = data["batch_size"]
    count = data["dataset_size"] // size

    def batch(step):
        tokens = whole[step % count * size : (step % count + 1) * size]
        return tokens, F.pad(tokens[:, 1:], (0, 1))

    return batch


def loss(logits, targets):
    return (F.cross_entropy(logits.flatten(0, 1), targets.flatten()),
            (logits.detach().argmax(-1) == targets).float().mean())


if __name__ == "__main__":
    torch_program.main("torch_decoder")
