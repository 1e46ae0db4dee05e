"""MNIST's IDX files (Y. LeCun, C. Cortes, C. J. C. Burges; commonly distributed under CC BY-SA 3.0)."""

import gzip
import pathlib
import struct

import numpy as np


def read_idx(path):
    """The array in a gzip-compressed IDX file of unsigned bytes."""
    with gzip.open(path, "rb") as file:
        raw = file.read()
    if len(raw) < 4 or raw[:3] != b"\0\0\x08":
        raise SystemExit(f"{path}: not an IDX file of unsigned bytes")
    rank = raw[3]
    shape = struct.unpack(f">{rank}I", raw[4 : 4 + 4 * rank])
    data = np.frombuffer(raw, np.uint8, offset=4 + 4 * rank)
    if data.size != int(np.prod(shape)):
        raise SystemExit(f"{path}: {data.size} bytes of data, header says {shape}")
    return data.reshape(shape)


def load(folder, split):
    """(images uint8 (N,28,28), labels int64 (N,)) of 'train' or 't10k'."""
    folder = pathlib.Path(folder)
    images = read_idx(folder / f"{split}-images-idx3-ubyte.gz")
    labels = read_idx(folder / f"{split}-labels-idx1-ubyte.gz").astype(np.int64)
    return images, labels
