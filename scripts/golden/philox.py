"""The engine's random numbers in NumPy: Philox4x32-10 (Salmon et al., SC 2011) and the normals drawn
from it, with key, counter and Box-Muller as config/include/ditar/config/philox.h says.

    python3 scripts/golden/philox.py    # checks the authors' known answers
"""

import math

import numpy as np

KNOWN_ANSWERS = [  # counter, key, result: Random123's kat_vectors, philox4x32 10
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0),
     (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1)),
]


def philox4x32_10(counter, key):
    """counter (n, 4) and key (2) as integers below 2^32 -> (n, 4) uint64 holding 32 bits each."""
    low = np.uint64(0xFFFFFFFF)
    c = [np.asarray(counter, dtype=np.uint64)[:, k] for k in range(4)]
    k0, k1 = (int(word) for word in key)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), b & low,
             (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), a & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, axis=1)


def check_known_answers():
    for counter, key, result in KNOWN_ANSWERS:
        got = tuple(int(word) for word in philox4x32_10([counter], key)[0])
        if got != result:
            raise AssertionError(f"philox4x32-10 of {counter} under {key} gives {got}, not {result}")


def normals(seed, images, size, step=0):
    """(images, size) FP32: the engine's noise of images 0.. at `step`. The C library's log, cos and
    sin, one number at a time, since NumPy's vector versions may differ in the last bit."""
    blocks = -(-size // 4)
    counter = np.zeros((images, blocks, 4), dtype=np.uint64)
    counter[..., 0] = np.arange(blocks)
    counter[..., 1] = step
    counter[..., 2] = np.arange(images)[:, None]
    words = philox4x32_10(counter.reshape(-1, 4), (seed & 0xFFFFFFFF, seed >> 32))
    uniform = (words.astype(np.float64) + 0.5) * (1.0 / 4294967296.0)
    angle = 2.0 * math.pi * uniform[:, 1::2]

    def each(function, values):
        return np.fromiter(map(function, values.ravel().tolist()), np.float64, values.size).reshape(values.shape)

    radius = np.sqrt(-2.0 * each(math.log, uniform[:, 0::2]))
    out = np.stack([radius * each(math.cos, angle), radius * each(math.sin, angle)], axis=2)
    return out.reshape(images, 4 * blocks)[:, :size].astype(np.float32)


if __name__ == "__main__":
    check_known_answers()
    print("philox4x32-10: known answers reproduced")
