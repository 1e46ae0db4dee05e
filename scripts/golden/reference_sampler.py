"""Schedules and samplers in NumPy FP64, written formula by formula and step by step, with no
precomputed scalars: the independent side of the sampler goldens."""

import numpy as np


def alpha_bars():
    return np.cumprod(1.0 - np.linspace(1e-4, 2e-2, 1000, dtype=np.float64))


def respaced(text):
    """The official respacing rule; Python's round() is half to even, the stride is added up."""
    if text.startswith("ddim"):
        wanted = int(text[4:])
        for stride in range(1, 1000):
            if len(range(0, 1000, stride)) == wanted:
                return list(range(0, 1000, stride))
        raise ValueError(text)
    counts = [int(c) for c in text.split(",")]
    steps, start = [], 0
    for i, count in enumerate(counts):
        size = 1000 // len(counts) + (1 if i < 1000 % len(counts) else 0)
        stride = 1.0 if count <= 1 else (size - 1) / (count - 1)
        position = 0.0
        for _ in range(count):
            steps.append(start + round(position))
            position += stride
        start += size
    return sorted(set(steps))


def step_pair(timesteps, k):
    bars = alpha_bars()
    return bars[timesteps[k]], bars[timesteps[k + 1]] if k + 1 < len(timesteps) else 1.0


def ddim_step(x, eps, noise, timesteps, k, eta):
    bar, bar_next = step_pair(timesteps, k)
    x0 = np.sqrt(1 / bar) * x - np.sqrt(1 / bar - 1) * eps
    eps = (np.sqrt(1 / bar) * x - x0) / np.sqrt(1 / bar - 1)
    sigma = eta * np.sqrt((1 - bar_next) / (1 - bar)) * np.sqrt(1 - bar / bar_next)
    mean = x0 * np.sqrt(bar_next) + np.sqrt(1 - bar_next - sigma**2) * eps
    return mean + (sigma * noise if k + 1 < len(timesteps) else 0.0)


def respaced_posterior(timesteps):
    """Posterior variances and betas of the respaced chain, ascending."""
    bars = alpha_bars()[np.array(sorted(timesteps))]
    before = np.append(1.0, bars[:-1])
    betas = 1 - bars / before
    return betas * (1 - before) / (1 - bars), betas, bars, before


def ddpm_step(x, eps, v, noise, timesteps, k, learned=True):
    posterior, betas, bars, before = respaced_posterior(timesteps)
    i = len(timesteps) - 1 - k
    x0 = np.sqrt(1 / bars[i]) * x - np.sqrt(1 / bars[i] - 1) * eps
    mean = (betas[i] * np.sqrt(before[i]) / (1 - bars[i]) * x0
            + (1 - before[i]) * np.sqrt(1 - betas[i]) / (1 - bars[i]) * x)
    if i == 0:
        return mean
    if not learned:
        return mean + np.sqrt(posterior[i]) * noise
    min_log, max_log = np.log(posterior[i]), np.log(betas[i])
    frac = (v + 1) / 2
    return mean + np.exp(0.5 * (frac * max_log + (1 - frac) * min_log)) * noise


def dpmpp_step(x, eps, history, timesteps, k):
    """Returns x after the step and this step's x0 (the next history)."""
    bar, bar_next = step_pair(timesteps, k)
    x0 = (x - np.sqrt(1 - bar) * eps) / np.sqrt(bar)
    if k + 1 == len(timesteps):
        return x0, x0

    def lam(b):
        return np.log(np.sqrt(b)) - np.log(np.sqrt(1 - b))

    h = lam(bar_next) - lam(bar)
    ratio = np.sqrt(1 - bar_next) / np.sqrt(1 - bar)
    alpha = np.sqrt(bar_next)
    out = ratio * x - alpha * (np.exp(-h) - 1) * x0
    if k > 0:
        r0 = (lam(bar) - lam(alpha_bars()[timesteps[k - 1]])) / h
        out = out - 0.5 * alpha * (np.exp(-h) - 1) * (x0 - history) / r0
    return out, x0
