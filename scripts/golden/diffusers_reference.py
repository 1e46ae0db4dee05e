"""The published diffusers classes in FP64, with their FP32 casts lifted: the reference of the
diffusers parity mode."""

import math

import diffusers.models.embeddings as embeddings
import numpy as np
import torch
from diffusers import DDIMScheduler, DPMSolverMultistepScheduler
from diffusers.models import DiTTransformer2DModel

import reference_sampler
from reference_dit import position_table


def fp64_timestep_embedding(timesteps, embedding_dim, flip_sin_to_cos=False,
                            downscale_freq_shift=1, scale=1, max_period=10000):
    """Same formula as diffusers.models.embeddings.get_timestep_embedding, without FP32."""
    half = embedding_dim // 2
    exponent = -math.log(max_period) * torch.arange(half, dtype=torch.float64)
    angles = scale * timesteps[:, None].double() * torch.exp(
        exponent / (half - downscale_freq_shift))[None]
    parts = [angles.sin(), angles.cos()]
    return torch.cat(parts[::-1] if flip_sin_to_cos else parts, dim=-1)


def make_model(seed, differ):
    """A small random DiTTransformer2DModel; `differ` gives every block embedders of its own."""
    embeddings.get_timestep_embedding = fp64_timestep_embedding
    model = DiTTransformer2DModel(
        num_attention_heads=2, attention_head_dim=16, in_channels=4, out_channels=8, num_layers=2,
        sample_size=8, patch_size=2, num_embeds_ada_norm=10, attention_bias=True)
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in model.named_parameters():
            scale = 1 / math.sqrt(p[0].numel()) if p.dim() > 1 else 0.1
            scale = 0.5 if "embedding_table" in name else scale
            p.copy_((torch.randn(p.shape, generator=g) * scale).half().float())
        first = model.transformer_blocks[0].norm1.emb.state_dict()
        if not differ:
            for block in model.transformer_blocks:
                block.norm1.emb.load_state_dict(first)
    return model.eval()


def to_fp64(model):
    model = model.double()
    model.pos_embed.pos_embed = position_table(32, 4, 4)[None]
    # The class label dropout belongs to training alone.
    for block in model.transformer_blocks:
        block.norm1.emb.class_embedder.dropout_prob = 0.0
    return model


@torch.no_grad()
def forward(model, x, t, y):
    return model(x.double(), timestep=t, class_labels=y).sample


def guided(model, x, t, labels, scale):
    """All four channels are guided and the learned variance is dropped, as DiTPipeline does."""
    n = x.shape[0]
    out = forward(model, torch.cat([x, x]), torch.full((2 * n,), t),
                  torch.cat([labels, torch.full((n,), 10)]))[:, :4]
    return out[n:] + scale * (out[:n] - out[n:])


def ddim(model, x, labels, steps, scale):
    scheduler = DDIMScheduler(clip_sample=False)
    scheduler.alphas_cumprod = torch.from_numpy(reference_sampler.alpha_bars())
    scheduler.final_alpha_cumprod = torch.tensor(1.0, dtype=torch.float64)
    scheduler.set_timesteps(steps)
    timesteps = [int(t) for t in scheduler.timesteps]
    for t in timesteps:
        x = scheduler.step(guided(model, x, t, labels, scale), t, x).prev_sample
    return x, timesteps


def dpmpp(model, x, labels, steps, scale):
    """The scheduler's own updates; its step() is retold because it casts the sample to FP32."""
    s = DPMSolverMultistepScheduler(beta_start=1e-4, beta_end=2e-2, beta_schedule="linear",
                                    final_sigmas_type="zero")
    s.set_timesteps(steps)
    timesteps = [int(t) for t in s.timesteps]
    bars = reference_sampler.alpha_bars()[timesteps]
    s.sigmas = torch.from_numpy(np.append(np.sqrt((1 - bars) / bars), 0.0))
    s._step_index = 0
    for k, t in enumerate(timesteps):
        x0 = s.convert_model_output(guided(model, x, t, labels, scale), sample=x)
        s.model_outputs = [s.model_outputs[-1], x0]
        first = k == 0 or k + 1 == len(timesteps)
        x = (s.dpm_solver_first_order_update(x0, sample=x) if first else
             s.multistep_dpm_solver_second_order_update(s.model_outputs, sample=x))
        s._step_index += 1
    return x, timesteps
