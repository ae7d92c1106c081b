"""How much memory there is, and how much a row of a layer takes."""

import os
from pathlib import Path

import torch

from interp.models.plain import Plain

STATES_A_ROW = 24
"""How many states of `d_model` numbers a layer holds for one row at once: a generous bound."""


def free_bytes(device: torch.device) -> int:
    """Memory that can be had on a device without taking it from anybody."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    meminfo = Path("/proc/meminfo")
    if meminfo.is_file():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def default_budget(plain: Plain) -> int:
    """Half of what is free where the model is, in bytes."""
    return free_bytes(plain.module.device) // 2


def bytes_a_row(plain: Plain) -> int:
    """What one row of a layer takes while it is computed."""
    return STATES_A_ROW * bytes_a_state(plain)


def bytes_a_state(plain: Plain) -> int:
    """What one state of the residual stream takes."""
    return int(plain.module.config.hidden_size) * int(plain.module.dtype.itemsize)
