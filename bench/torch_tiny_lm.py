"""The system of presets/tiny_lm_dp.json in PyTorch: eager or compiled in one process, DDP or FSDP2 on several. A peer of
`shardrun train`: see bench/torch_program.py.
"""

import torch
import torch.nn.functional as F
from torch import nn

import torch_program


class Block(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).transpose(1, 3).unbind(2)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class TinyLM(nn.Module):
    def __init__(self, options):
        super().__init__()
        width = options["d_model"]
        self.tokens = nn.Embedding(options["vocab_size"], width)
        positions, columns = torch.arange(options["seq_len"])[:, None], torch.arange(0, width, 2)[None]
        angles = positions * torch.exp(-(torch.log(torch.tensor(10000.0)) / width) * columns)
        self.positions = nn.Parameter(torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1))
        self.blocks = nn.ModuleList(
            Block(width, options["n_heads"], options["d_ff"]) for _ in range(options["n_layers"]))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, options["vocab_size"], bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def make_model(options, parallel_size):
    return TinyLM(options)


def load(model, arrays):
    def norm(module, name):
        module.weight.copy_(arrays[f"{name}/scale"])
        module.bias.copy_(arrays[f"{name}/bias"])

    def dense(module, name):
        module.weight.copy_(arrays[f"{name}/kernel"].flatten(1).T)
        if module.bias is not None:
            module.bias.copy_(arrays[f"{name}/bias"])

    model.tokens.weight.copy_(arrays["params/tok_emb/embedding"])
    model.positions.copy_(arrays["params/pos_emb"])
    for i, block in enumerate(model.blocks):
        name = f"params/blocks_{i}"
        attention = f"{name}/SelfAttention_0"
        norm(block.norm1, f"{name}/LayerNorm_0")
        norm(block.norm2, f"{name}/LayerNorm_1")
        block.qkv.weight.copy_(torch.cat([arrays[f"{attention}/{part}/kernel"].flatten(1).T
                                          for part in ("query", "key", "value")]))
        block.out.weight.copy_(arrays[f"{attention}/out/kernel"].flatten(0, 1).T)
        dense(block.up, f"{name}/Dense_0")
        dense(block.down, f"{name}/Dense_1")
    norm(model.norm, "params/ln_f")
    dense(model.head, "params/head")


def blocks(model):
    return model.blocks


def make_data(run, given):
    import numpy

    data, options = run["data"], run["model"]
    whole = torch.from_numpy(numpy.random.RandomState(data["seed"]).randint(
        0, options["vocab_size"], (data["dataset_size"], options["seq_len"]), dtype=numpy.int32)).long()
    size = data["batch_size"]
    count = data["dataset_size"] // size

    def batch(step):
        tokens = whole[step % count * size : (step % count + 1) * size]
        return tokens, tokens[:, 1:]

    return batch


def loss(logits, targets):
    logits = logits[:, :-1]
    return (F.cross_entropy(logits.flatten(0, 1), targets.flatten()),
            (logits.detach().argmax(-1) == targets).float().mean())


if __name__ == "__main__":
    torch_program.main("torch_tiny_lm")
