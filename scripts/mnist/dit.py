"""DiT with adaLN-Zero in PyTorch, written from the published description (Peebles & Xie 2023), with
the official checkpoint's key names so that the files it saves are read by the engine."""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CONFIGS = {
    # 49 tokens, head_dim 32: the lane cpu-mnist.
    "mnist": dict(size=28, channels=1, patch=4, hidden=128, depth=6, heads=4, classes=10),
    # 196 tokens, head_dim 72 as DiT-XL has it: the lane gpu-mnist.
    "mnist-hd72": dict(size=28, channels=1, patch=2, hidden=144, depth=8, heads=2, classes=10),
}


def position_table(rows, columns, hidden):
    """(rows*columns, hidden) sin-cos table; the column index comes first, each axis sin then cos."""
    omega = 1.0 / 10000 ** (np.arange(hidden // 4, dtype=np.float64) / (hidden // 4))
    row, column = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")

    def axis(position):
        angle = np.outer(position.reshape(-1).astype(np.float64), omega)
        return np.concatenate([np.sin(angle), np.cos(angle)], axis=1)

    return np.concatenate([axis(column), axis(row)], axis=1)


class Attention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.proj = nn.Linear(hidden, hidden)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v)
        return self.proj(out.transpose(1, 2).reshape(b, t, d))


class Mlp(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.fc1 = nn.Linear(hidden, 4 * hidden)
        self.fc2 = nn.Linear(4 * hidden, hidden)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x), approximate="tanh"))


def modulate(x, shift, scale):
    return F.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale[:, None]) + shift[:, None]


class Block(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.attn = Attention(hidden, heads)
        self.mlp = Mlp(hidden)
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(hidden, 6 * hidden))

    def forward(self, x, c):
        s1, c1, g1, s2, c2, g2 = self.adaLN_modulation(c).chunk(6, dim=1)
        x = x + g1[:, None] * self.attn(modulate(x, s1, c1))
        return x + g2[:, None] * self.mlp(modulate(x, s2, c2))


class FinalLayer(nn.Module):
    def __init__(self, hidden, out):
        super().__init__()
        self.linear = nn.Linear(hidden, out)
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), nn.Linear(hidden, 2 * hidden))

    def forward(self, x, c):
        shift, scale = self.adaLN_modulation(c).chunk(2, dim=1)
        return self.linear(modulate(x, shift, scale))


class PatchEmbed(nn.Module):
    def __init__(self, channels, patch, hidden):
        super().__init__()
        self.proj = nn.Conv2d(channels, hidden, patch, patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class TimestepEmbed(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(256, hidden), nn.SiLU(), nn.Linear(hidden, hidden))

    def forward(self, t):
        frequency = torch.exp(-math.log(10000.0) * torch.arange(128, device=t.device) / 128)
        angle = t[:, None].float() * frequency
        return self.mlp(torch.cat([torch.cos(angle), torch.sin(angle)], dim=1))


class LabelEmbed(nn.Module):
    def __init__(self, classes, hidden):
        super().__init__()
        self.embedding_table = nn.Embedding(classes + 1, hidden)

    def forward(self, label):
        return self.embedding_table(label)


class Dit(nn.Module):
    """(B,C,H,W), t (B,), label (B,) -> (B,2C,H,W): noise and variance logit."""

    def __init__(self, size, channels, patch, hidden, depth, heads, classes):
        super().__init__()
        self.channels, self.patch, self.grid, self.classes = channels, patch, size // patch, classes
        self.heads = heads
        self.x_embedder = PatchEmbed(channels, patch, hidden)
        self.t_embedder = TimestepEmbed(hidden)
        self.y_embedder = LabelEmbed(classes, hidden)
        table = torch.from_numpy(position_table(self.grid, self.grid, hidden)).float()
        self.register_buffer("pos_embed", table[None])
        self.blocks = nn.ModuleList(Block(hidden, heads) for _ in range(depth))
        self.final_layer = FinalLayer(hidden, patch * patch * 2 * channels)
        self.reset()

    def reset(self):
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        nn.init.xavier_uniform_(self.x_embedder.proj.weight.view(len(self.pos_embed[0, 0]), -1))
        nn.init.zeros_(self.x_embedder.proj.bias)
        nn.init.normal_(self.y_embedder.embedding_table.weight, std=0.02)
        for layer in (self.t_embedder.mlp[0], self.t_embedder.mlp[2]):
            nn.init.normal_(layer.weight, std=0.02)
        for layer in [b.adaLN_modulation[1] for b in self.blocks] + [
            self.final_layer.adaLN_modulation[1],
            self.final_layer.linear,
        ]:
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x, t, label):
        x = self.x_embedder(x) + self.pos_embed
        c = self.t_embedder(t) + self.y_embedder(label)
        for block in self.blocks:
            x = block(x, c)
        x = self.final_layer(x, c)
        b, g, p, out = x.shape[0], self.grid, self.patch, 2 * self.channels
        x = x.view(b, g, g, p, p, out)
        return torch.einsum("nhwpqc->nchpwq", x).reshape(b, out, g * p, g * p)
