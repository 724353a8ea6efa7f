"""What a build adds to the wheel: the machine code of the kernels, where `make wheel` has compiled it."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHIPPED = "src/incrowd/core/kernels/shipped"
SYSTEMS = {"linux": "manylinux2014_{}", "darwin": "macosx_11_0_{}", "win32": "win_{}"}


class MachineCode(BuildHookInterface):
    """Put machine code into the wheel, which is then for this system, processor and Python alone."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the folder and the tag of the wheel, unless nothing was compiled."""
        if version == "editable" or not Path(self.root, SHIPPED).is_dir():
            return
        system = SYSTEMS[sys.platform].format(platform.machine().lower())
        build_data["pure_python"] = False
        build_data["tag"] = f"cp{sys.version_info.major}{sys.version_info.minor}-none-{system}"
        build_data["artifacts"].append(f"{SHIPPED}/*")
