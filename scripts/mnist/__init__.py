"""MNIST pieces shared by the training script: data, the DiT, diffusion and the judge."""
