"""An independent DiT in PyTorch, FP64 throughout: the reference of the golden data.

Written from the paper (Peebles & Xie 2023) and the layout of the published weights; it shares no
code with the engine and is as plain as possible. Sin, cos and angles are FP64 where the published
code casts them to FP32.
"""

import math

import torch
import torch.nn.functional as F


def position_table(hidden, grid_h, grid_w):
    """(grid_h * grid_w, hidden): w in the first half, h in the second, each [sin | cos]."""
    quarter = hidden // 4
    omega = 10000.0 ** (-torch.arange(quarter, dtype=torch.float64) / quarter)

    def encode(positions):
        angles = positions.reshape(-1, 1).double() * omega
        return torch.cat([angles.sin(), angles.cos()], dim=1)

    h, w = torch.meshgrid(torch.arange(grid_h), torch.arange(grid_w), indexing="ij")
    return torch.cat([encode(w), encode(h)], dim=1)


class ReferenceDit:
    """Holds the official state dict in FP64."""

    def __init__(self, state, heads, height, width):
        self.p = {k: v.double() for k, v in state.items()}
        self.heads, self.height, self.width = heads, height, width
        proj = self.p["x_embedder.proj.weight"]
        self.hidden, self.channels, self.patch = proj.shape[0], proj.shape[1], proj.shape[2]
        self.depth = len([k for k in self.p if k.endswith("attn.qkv.weight")])
        rows = self.p["final_layer.linear.weight"].shape[0]
        self.out_channels = rows // self.patch**2
        self.positions = self.p.get("pos_embed")
        if self.positions is None:
            self.positions = position_table(
                self.hidden, height // self.patch, width // self.patch)[None]

    def linear(self, name, x):
        return F.linear(x, self.p[name + ".weight"], self.p[name + ".bias"])

    def condition(self, t, y):
        half = 128
        freqs = torch.exp(-math.log(10000.0) * torch.arange(half, dtype=torch.float64) / half)
        angles = t.double()[:, None] * freqs[None]
        embedding = torch.cat([angles.cos(), angles.sin()], dim=1)
        embedding = self.linear("t_embedder.mlp.2", F.silu(self.linear("t_embedder.mlp.0", embedding)))
        return embedding + self.p["y_embedder.embedding_table.weight"][y]

    def norm(self, x, shift, scale):
        return F.layer_norm(x, (self.hidden,), eps=1e-6) * (1 + scale[:, None]) + shift[:, None]

    def block(self, i, x, c):
        n = f"blocks.{i}."
        shift1, scale1, gate1, shift2, scale2, gate2 = self.linear(
            n + "adaLN_modulation.1", F.silu(c)).chunk(6, dim=1)
        b, tokens, d = x.shape
        qkv = self.linear(n + "attn.qkv", self.norm(x, shift1, scale1))
        q, k, v = qkv.reshape(b, tokens, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-1, -2) / math.sqrt(d // self.heads)).softmax(dim=-1)
        attended = (weights @ v).transpose(1, 2).reshape(b, tokens, d)
        x = x + gate1[:, None] * self.linear(n + "attn.proj", attended)
        inner = F.gelu(self.linear(n + "mlp.fc1", self.norm(x, shift2, scale2)), approximate="tanh")
        return x + gate2[:, None] * self.linear(n + "mlp.fc2", inner)

    @torch.no_grad()
    def forward(self, x, t, y):
        """x (N, C, H, W), t (N) in 0..999, y (N) -> (N, out_channels, H, W)."""
        p = self.patch
        h = F.conv2d(x.double(), self.p["x_embedder.proj.weight"],
                     self.p["x_embedder.proj.bias"], stride=p)
        h = h.flatten(2).transpose(1, 2) + self.positions
        c = self.condition(t, y)
        for i in range(self.depth):
            h = self.block(i, h, c)
        shift, scale = self.linear("final_layer.adaLN_modulation.1", F.silu(c)).chunk(2, dim=1)
        h = self.linear("final_layer.linear", self.norm(h, shift, scale))
        gh, gw = self.height // p, self.width // p
        h = h.reshape(-1, gh, gw, p, p, self.out_channels)
        return torch.einsum("nhwpqc->nchpwq", h).reshape(-1, self.out_channels, gh * p, gw * p)


def random_state(hidden, depth, channels, patch, classes, out_channels, mlp_hidden, seed):
    """A random official state dict whose activations stay of order one; adaLN is not zero."""
    g = torch.Generator().manual_seed(seed)

    def normal(*shape, scale):
        return torch.randn(*shape, generator=g, dtype=torch.float64) * scale

    state = {}

    def add(name, rows, cols, scale=None):
        state[name + ".weight"] = normal(rows, cols, scale=scale or 1 / math.sqrt(cols))
        state[name + ".bias"] = normal(rows, scale=0.1)

    add("x_embedder.proj", hidden, channels * patch * patch)
    state["x_embedder.proj.weight"] = state["x_embedder.proj.weight"].reshape(
        hidden, channels, patch, patch)
    add("t_embedder.mlp.0", hidden, 256)
    add("t_embedder.mlp.2", hidden, hidden)
    state["y_embedder.embedding_table.weight"] = normal(classes + 1, hidden, scale=0.5)
    for i in range(depth):
        n = f"blocks.{i}."
        add(n + "attn.qkv", 3 * hidden, hidden, 1.5 / math.sqrt(hidden))
        add(n + "attn.proj", hidden, hidden)
        add(n + "mlp.fc1", mlp_hidden, hidden)
        add(n + "mlp.fc2", hidden, mlp_hidden)
        add(n + "adaLN_modulation.1", 6 * hidden, hidden, 0.7 / math.sqrt(hidden))
    add("final_layer.linear", out_channels * patch * patch, hidden)
    add("final_layer.adaLN_modulation.1", 2 * hidden, hidden, 0.7 / math.sqrt(hidden))
    return state
