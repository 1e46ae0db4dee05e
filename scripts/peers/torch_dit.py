"""DiT as a PyTorch user would write it for speed: nn.Module, FP32, scaled_dot_product_attention."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, hidden, heads, mlp_hidden):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(hidden, elementwise_affine=False, eps=1e-6)
        self.norm2 = nn.LayerNorm(hidden, elementwise_affine=False, eps=1e-6)
        self.attn = nn.ModuleDict({"qkv": nn.Linear(hidden, 3 * hidden),
                                   "proj": nn.Linear(hidden, hidden)})
        self.mlp = nn.ModuleDict({"fc1": nn.Linear(hidden, mlp_hidden),
                                  "fc2": nn.Linear(mlp_hidden, hidden)})
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(hidden, 6 * hidden))

    def forward(self, x, c):
        shift1, scale1, gate1, shift2, scale2, gate2 = self.adaLN_modulation(c).chunk(6, dim=1)
        b, s, d = x.shape
        h = self.norm1(x) * (1 + scale1[:, None]) + shift1[:, None]
        q, k, v = self.attn["qkv"](h).reshape(b, s, 3, self.heads, d // self.heads).permute(
            2, 0, 3, 1, 4).unbind(0)
        h = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, s, d)
        x = x + gate1[:, None] * self.attn["proj"](h)
        h = self.norm2(x) * (1 + scale2[:, None]) + shift2[:, None]
        h = self.mlp["fc2"](F.gelu(self.mlp["fc1"](h), approximate="tanh"))
        return x + gate2[:, None] * h


class TorchDit(nn.Module):
    def __init__(self, state, heads):
        super().__init__()
        hidden, channels, patch, _ = state["x_embedder.proj.weight"].shape
        self.patch = patch
        self.x_embedder = nn.ModuleDict({"proj": nn.Conv2d(channels, hidden, patch, stride=patch)})
        self.t_embedder = nn.ModuleDict({"mlp": nn.Sequential(
            nn.Linear(256, hidden), nn.SiLU(), nn.Linear(hidden, hidden))})
        classes = state["y_embedder.embedding_table.weight"].shape[0]
        self.y_embedder = nn.ModuleDict({"embedding_table": nn.Embedding(classes, hidden)})
        mlp_hidden = state["blocks.0.mlp.fc1.weight"].shape[0]
        depth = len([k for k in state if k.endswith("attn.qkv.weight")])
        self.blocks = nn.ModuleList([Block(hidden, heads, mlp_hidden) for _ in range(depth)])
        rows = state["final_layer.linear.weight"].shape[0]
        self.out_channels = rows // patch**2
        self.final_layer = nn.ModuleDict({
            "norm": nn.LayerNorm(hidden, elementwise_affine=False, eps=1e-6),
            "linear": nn.Linear(hidden, rows),
            "adaLN_modulation": nn.Sequential(nn.SiLU(), nn.Linear(hidden, 2 * hidden))})
        self.register_buffer("pos_embed", torch.empty(state["pos_embed"].shape))
        freqs = torch.exp(-math.log(10000.0) * torch.arange(128, dtype=torch.float64) / 128)
        self.register_buffer("freqs", freqs.float(), persistent=False)
        self.load_state_dict(state)

    def forward(self, x, t, y):
        n, _, height, width = x.shape
        p = self.patch
        h = self.x_embedder["proj"](x).flatten(2).transpose(1, 2) + self.pos_embed
        angles = t.float()[:, None] * self.freqs[None]
        features = torch.cat([angles.cos(), angles.sin()], dim=1).to(x.dtype)
        c = self.t_embedder["mlp"](features)
        c = c + self.y_embedder["embedding_table"](y)
        for block in self.blocks:
            h = block(h, c)
        shift, scale = self.final_layer["adaLN_modulation"](c).chunk(2, dim=1)
        h = self.final_layer["norm"](h) * (1 + scale[:, None]) + shift[:, None]
        h = self.final_layer["linear"](h)
        h = h.reshape(n, height // p, width // p, p, p, self.out_channels)
        return h.permute(0, 5, 1, 3, 2, 4).reshape(n, self.out_channels, height, width)
