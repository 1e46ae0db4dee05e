"""The linear schedule, the hybrid training loss (noise MSE plus the variational bound that trains
the variance; Nichol & Dhariwal 2021) and DDIM sampling with guidance."""

import math

import numpy as np
import torch

STEPS = 1000


class Schedule:
    def __init__(self, device):
        beta = np.linspace(1e-4, 2e-2, STEPS)
        alpha_bar = np.cumprod(1 - beta)
        previous = np.append(1.0, alpha_bar[:-1])
        variance = beta * (1 - previous) / (1 - alpha_bar)

        def tensor(values):
            return torch.tensor(values, dtype=torch.float32, device=device)

        self.alpha_bar = torch.tensor(alpha_bar, dtype=torch.float64, device=device)
        self.signal, self.noise = tensor(np.sqrt(alpha_bar)), tensor(np.sqrt(1 - alpha_bar))
        self.log_max = tensor(np.log(beta))
        self.log_min = tensor(np.log(np.append(variance[1], variance[1:])))
        self.mean_x0 = tensor(beta * np.sqrt(previous) / (1 - alpha_bar))
        self.mean_xt = tensor((1 - previous) * np.sqrt(1 - beta) / (1 - alpha_bar))


def normal_cdf(x):
    return 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def bound_term(schedule, x0, xt, t, noise, logit):
    """One term of the variational bound in bits per dimension, (B,); the mean takes no gradient."""

    def at(table):
        return table[t][:, None, None, None]

    x0_hat = (xt - at(schedule.noise) * noise) / at(schedule.signal)
    mean = at(schedule.mean_x0) * x0_hat + at(schedule.mean_xt) * xt
    true_mean = at(schedule.mean_x0) * x0 + at(schedule.mean_xt) * xt
    fraction = (logit + 1) / 2
    log_var = fraction * at(schedule.log_max) + (1 - fraction) * at(schedule.log_min)
    true_log_var = at(schedule.log_min)
    kl = 0.5 * (
        -1 + log_var - true_log_var + torch.exp(true_log_var - log_var)
        + (true_mean - mean) ** 2 * torch.exp(-log_var)
    )
    centred, inverse = x0 - mean, torch.exp(-0.5 * log_var)
    upper = normal_cdf(inverse * (centred + 1 / 255))
    lower = normal_cdf(inverse * (centred - 1 / 255))
    inside = (upper - lower).clamp(min=1e-12)
    likelihood = torch.where(
        x0 < -0.999, upper.clamp(min=1e-12),
        torch.where(x0 > 0.999, (1 - lower).clamp(min=1e-12), inside),
    ).log()
    first = (t == 0)[:, None, None, None]
    return torch.where(first, -likelihood, kl).mean(dim=(1, 2, 3)) / math.log(2)


def hybrid_loss(model, schedule, x0, label, t, noise):
    """Mean of noise MSE + bound (scaled so that 1000 terms weigh as one)."""
    xt = schedule.signal[t][:, None, None, None] * x0 + schedule.noise[t][:, None, None, None] * noise
    out = model(xt, t, label).float()
    eps, logit = out.chunk(2, dim=1)
    mse = ((eps - noise) ** 2).mean(dim=(1, 2, 3))
    bound = bound_term(schedule, x0, xt, t, eps.detach(), logit)
    return (mse + bound).mean()


def ddim_timesteps(steps):
    return [int(t) for t in np.round(np.linspace(0, STEPS - 1, steps))][::-1]


@torch.no_grad()
def ddim_sample(model, schedule, x, label, steps, guidance):
    """eta = 0, all channels guided, last alpha-bar 1, result clamped to [-1, 1]."""
    times = ddim_timesteps(steps)
    null = torch.full_like(label, model.classes)
    for k, t in enumerate(times):
        batch = torch.full((len(x),), t, device=x.device)
        if guidance == 1.0:
            eps = model(x, batch, label)[:, : x.shape[1]]
        else:
            both = model(torch.cat([x, x]), torch.cat([batch, batch]), torch.cat([label, null]))
            cond, uncond = both[:, : x.shape[1]].chunk(2)
            eps = uncond + guidance * (cond - uncond)
        now = schedule.alpha_bar[t]
        then = schedule.alpha_bar[times[k + 1]] if k + 1 < len(times) else torch.ones_like(now)
        x0 = (x - (1 - now).sqrt().float() * eps) / now.sqrt().float()
        x = then.sqrt().float() * x0 + (1 - then).sqrt().float() * eps
    return x.clamp(-1, 1)
