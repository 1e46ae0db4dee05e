"""The judge: a small CNN whose 64 features carry class accuracy and a Frechet distance."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

TOTAL_VARIANCE = 256.0  # of the 64 features over MNIST's test images: 4 each on average


class Judge(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, 2, 1)
        self.conv2 = nn.Conv2d(16, 32, 3, 2, 1)
        self.conv3 = nn.Conv2d(32, 64, 3, 2, 1)
        self.fc1 = nn.Linear(1024, 64)
        self.fc2 = nn.Linear(64, 10)

    def features(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(self.conv3(x))
        return F.relu(self.fc1(x.flatten(1)))

    def forward(self, x):
        return self.fc2(self.features(x))


def train(images, labels, epochs, seed, device):
    """Images (N,1,28,28) in [-1,1]; random shifts of one pixel."""
    torch.manual_seed(seed)
    judge = Judge().to(device)
    batch, count = 128, len(images)
    optimiser = torch.optim.AdamW(judge.parameters(), 3e-3, weight_decay=0.05)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimiser, 3e-3, total_steps=epochs * (count // batch))
    for _ in range(epochs):
        order = torch.randperm(count, device=device)
        for k in range(count // batch):
            index = order[k * batch : (k + 1) * batch]
            padded = F.pad(images[index], (1, 1, 1, 1), value=-1.0)
            dy, dx = torch.randint(0, 3, (2,)).tolist()
            loss = F.cross_entropy(judge(padded[:, :, dy : dy + 28, dx : dx + 28]), labels[index])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            rate.step()
    return judge.eval()


@torch.no_grad()
def normalise(judge, images):
    """Scales the features to a total variance of TOTAL_VARIANCE over `images`, which changes no logit
    (ReLU is homogeneous), so that a Frechet distance has a scale that does not depend on training."""
    variance = judge.features(images).double().var(dim=0).sum()
    scale = (TOTAL_VARIANCE / variance).sqrt().item()
    judge.fc1.weight.mul_(scale)
    judge.fc1.bias.mul_(scale)
    judge.fc2.weight.div_(scale)


@torch.no_grad()
def accuracy(judge, images, labels):
    return (judge(images).argmax(1) == labels).float().mean().item()


@torch.no_grad()
def statistics(judge, images):
    """(mean (64,), covariance (64,64) with n-1) in FP64."""
    features = judge.features(images).double().cpu().numpy()
    return features.mean(0), np.cov(features, rowvar=False)


def frechet(mu1, cov1, mu2, cov2):
    """|mu1-mu2|^2 + tr(cov1 + cov2 - 2 (cov1 cov2)^1/2), by symmetric eigenvalues."""
    values, vectors = np.linalg.eigh(cov1)
    root = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
    cross = np.linalg.eigvalsh(root @ cov2 @ root)
    return float(
        ((mu1 - mu2) ** 2).sum() + np.trace(cov1) + np.trace(cov2)
        - 2 * np.sqrt(np.clip(cross, 0, None)).sum()
    )
