"""The system of presets/parallax_decoder.json in PyTorch: eager or compiled in one process, f32 or autocast; DDP, FSDP2 or
tensor parallelism on several. A peer of `shardrun train`: see bench/torch_program.py.
"""

import torch
import torch.nn.functional as F
from torch import nn

import torch_program


class Attention(nn.Module):
    """Of this process's heads."""

    def __init__(self, width, heads, parallel_size):
        super().__init__()
        self.heads = heads // parallel_size
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def forward(self, x, mask):
        q, k, v = (part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.query, self.key, self.value))
        q = q * mask.amax(-1, keepdim=True).eq(0)  # a row that sees nothing looks at all alike, as in Flax
        return self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.dtype)).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads, parallel_size):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.attention = Attention(width, heads, parallel_size)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, mask):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Decoder(nn.Module):
    def __init__(self, options, parallel_size):
        super().__init__()
        width, length = options["embed_dim"], options["seq_len"]
        self.tokens = nn.Embedding(options["vocab_size"], width)
        self.positions = nn.Parameter(0.02 * torch.randn(length, width))
        self.blocks = nn.ModuleList(
            Block(width, options["num_heads"], parallel_size) for _ in range(options["num_layers"]))
        self.head = nn.Linear(width, options["vocab_size"])
        self.register_buffer("causal", torch.ones(length, length, dtype=torch.bool).tril())

    def forward(self, tokens):
        known = tokens > 0
        seen = known[:, None, :, None] & known[:, None, None, :] & self.causal
        mask = torch.where(seen, 0.0, -1e4)  # a row that sees nothing stays finite, and its backward pass exact
        x = self.tokens(tokens) + self.positions
        for block in self.blocks:
            x = block(x, mask)
        return self.head(x)


def make_model(options, parallel_size):
    return Decoder(options, parallel_size)


def load(model, arrays):
    def norm(module, name):
        module.weight.copy_(arrays[f"{name}/scale"])
        module.bias.copy_(arrays[f"{name}/bias"])

    def dense(module, name, inputs=1):
        module.weight.copy_(arrays[f"{name}/kernel"].flatten(inputs).flatten(0, inputs - 1).T)
        module.bias.copy_(arrays[f"{name}/bias"].flatten())

    model.tokens.weight.copy_(arrays["params/Embed_0/embedding"])
    model.positions.copy_(arrays["params/PositionalEmbedding_0/pos_embedding"])
    for i, block in enumerate(model.blocks):
        name = f"params/SelfAttentionBlock_{i}"
        norm(block.norm1, f"{name}/LayerNorm_0")
        norm(block.norm2, f"{name}/LayerNorm_1")
        for part in ("query", "key", "value"):
            dense(getattr(block.attention, part), f"{name}/SelfAttention_0/{part}")
        dense(block.attention.out, f"{name}/SelfAttention_0/out", inputs=2)
        dense(block.up, f"{name}/MLP_0/Dense_0")
        dense(block.down, f"{name}/MLP_0/Dense_1")
    dense(model.head, "params/Dense_0")


def blocks(model):
    return model.blocks


def tensor_parallel_plan(model):
    from torch.distributed.tensor import Replicate
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel

    plan = {"head": ColwiseParallel(output_layouts=Replicate())}
    for i in range(len(model.blocks)):
        for name in ("attention.query", "attention.key", "attention.value", "up"):
            plan[f"blocks.{i}.{name}"] = ColwiseParallel()
        for name in ("attention.out", "down"):
            plan[f"blocks.{i}.{name}"] = RowwiseParallel()
    return plan


def make_data(run, given):
    """JAX draws the original's tokens; without them others of the same kind, which take as long."""
    import numpy

    data, options = run["data"], run["model"]
    if given:
        arrays = numpy.load(given)
        tokens, labels = (torch.from_numpy(arrays[name]).long() for name in ("tokens", "labels"))
    else:
        tokens = torch.randint(0, options["vocab_size"], (data["batch_size"], options["seq_len"]))
        labels = tokens.roll(-1, dims=1)
        labels[:, -1] = 0
    return lambda step: (tokens, labels)


def loss(logits, targets):
    return (F.cross_entropy(logits.flatten(0, 1), targets.flatten()),
            (logits.detach().argmax(-1) == targets).float().mean())


if __name__ == "__main__":
    torch_program.main("torch_parallax_decoder")
