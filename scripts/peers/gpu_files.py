"""Safetensors files and the position table with torch alone, for GPU machines that hold little else."""
import json
import struct

import torch

TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I32": torch.int32}


def read_safetensors(path):
    data = torch.from_file(str(path), size=path.stat().st_size, dtype=torch.uint8)
    size = struct.unpack("<Q", bytes(data[:8].tolist()))[0]
    header = json.loads(bytes(data[8:8 + size].tolist()))
    out = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            part = data[8 + size + begin:8 + size + end].clone()
            out[name] = part.view(TYPES[entry["dtype"]]).reshape(entry["shape"])
    return out


def write_safetensors(path, tensors):
    names = {dtype: name for name, dtype in TYPES.items()}
    header, parts, offset = {}, [], 0
    for name, tensor in tensors.items():
        parts.append(tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [offset, offset + len(parts[-1])]}
        offset += len(parts[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def position_table(hidden, side):
    """The sin-cos table of the published DiT: columns first, then rows, each half sin then cos."""
    quarter = hidden // 4
    omega = 1.0 / 10000.0 ** (torch.arange(quarter, dtype=torch.float64) / quarter)
    rows, columns = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    parts = []
    for axis in (columns, rows):
        angles = axis.reshape(-1, 1).double() * omega
        parts += [angles.sin(), angles.cos()]
    return torch.cat(parts, dim=1).float()
