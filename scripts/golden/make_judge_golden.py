#!/usr/bin/env python3
"""Golden data for the judge and the scores, made with PyTorch and SciPy/NumPy.

usage: make_judge_golden.py OUT.safetensors

The weights are random (seeded), so the file proves the arithmetic, not the accuracy. It holds the
judge's tensors, 16 images, PyTorch's features and logits for them, a second feature set, and the
Frechet, kernel, PSNR and SSIM values of an independent implementation in FP64.
"""
import sys

import numpy as np
import torch
from safetensors.torch import save_file


def judge(seed):
    torch.manual_seed(seed)
    conv = [torch.nn.Conv2d(i, o, 3, 2, 1) for i, o in ((1, 16), (16, 32), (32, 64))]
    return conv, torch.nn.Linear(1024, 64), torch.nn.Linear(64, 10)


def frechet(mu1, c1, mu2, c2):
    """By the eigenvalues of the (not symmetric) product: another route than the C++ code."""
    roots = np.sqrt(np.maximum(np.linalg.eigvals(c1 @ c2).real, 0.0))
    return float(((mu1 - mu2) ** 2).sum() + np.trace(c1) + np.trace(c2) - 2 * roots.sum())


def kernel_distance(x, y):
    def k(a, b):
        return (a @ b.T / a.shape[1] + 1.0) ** 3

    n, m = len(x), len(y)
    kxx, kyy = k(x, x), k(y, y)
    return float(
        (kxx.sum() - np.trace(kxx)) / (n * (n - 1))
        + (kyy.sum() - np.trace(kyy)) / (m * (m - 1))
        - 2 * k(x, y).mean()
    )


def ssim(a, b):
    axis = np.arange(11) - 5.0
    w = np.exp(-(axis**2) / (2 * 1.5**2))
    w = np.outer(w, w) / np.outer(w, w).sum()

    def blur(z):
        return np.array(
            [[(w * z[i : i + 11, j : j + 11]).sum() for j in range(z.shape[1] - 10)]
             for i in range(z.shape[0] - 10)]
        )

    ma, mb = blur(a), blur(b)
    va, vb, cov = blur(a * a) - ma**2, blur(b * b) - mb**2, blur(a * b) - ma * mb
    c1, c2 = 0.02**2, 0.06**2
    return float(((2 * ma * mb + c1) * (2 * cov + c2) / ((ma**2 + mb**2 + c1) * (va + vb + c2))).mean())


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    conv, fc1, fc2 = judge(1)
    images = torch.tanh(torch.randn(16, 1, 28, 28) * 1.5)
    labels = (torch.arange(16) % 10).to(torch.int64)
    with torch.no_grad():
        h = images
        for layer in conv:
            h = torch.relu(layer(h))
        features = torch.relu(fc1(h.flatten(1)))
        logits = fc2(features)
        log_probability = torch.log_softmax(logits.double(), 1)[torch.arange(16), labels]
    generator = np.random.default_rng(2)
    size = 8  # small enough that full-rank covariances come from few rows
    x = generator.normal(size=(40, size)).astype(np.float32)
    y = (generator.normal(size=(50, size)) @ generator.normal(size=(size, size)) * 0.5 + 0.3).astype(np.float32)
    xd, yd = x.astype(np.float64), y.astype(np.float64)
    real = generator.normal(size=(300, 64))
    a, b = images[0, 0].numpy().astype(np.float64), (images[0, 0] * 0.9 + 0.02 * images[1, 0]).numpy()
    scalars = {
        "frechet": frechet(xd.mean(0), np.cov(xd.T), yd.mean(0), np.cov(yd.T)),
        "kernel": kernel_distance(xd, yd),
        "psnr": float(10 * np.log10(4.0 / ((a - b.astype(np.float64)) ** 2).mean())),
        "ssim": ssim(a, b.astype(np.float64)),
        "accuracy": float((logits.argmax(1) == labels).double().mean()),
    }
    tensors = {f"conv{i + 1}.{n}": getattr(c, n).detach() for i, c in enumerate(conv) for n in ("weight", "bias")}
    tensors |= {f"fc{i + 1}.{n}": getattr(f, n).detach() for i, f in enumerate((fc1, fc2)) for n in ("weight", "bias")}
    tensors |= {"reference.mu": torch.tensor(real.mean(0)), "reference.cov": torch.tensor(np.cov(real.T))}
    tensors |= {"golden.images": images, "golden.labels": labels, "golden.features": features,
                "golden.logits": logits, "golden.log_probability": log_probability,
                "golden.x": torch.tensor(x), "golden.y": torch.tensor(y), "golden.b": torch.tensor(b)}
    tensors |= {f"golden.{k}": torch.tensor([v], dtype=torch.float64) for k, v in scalars.items()}
    save_file({k: v.contiguous() for k, v in tensors.items()}, sys.argv[1])


if __name__ == "__main__":
    main()
