"""The hook of the build: makes the modules that follow from the OpenAPI document."""

import shutil
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, self.root)
        from generate import generate

        generate()
        document = Path(self.root).parent / "api" / "openapi.json"
        if self.target_name == "sdist" and document.exists():
            # A wheel is made from the source distribution alone.
            build_data["force_include"][str(document)] = "openapi.json"

    def clean(self, versions: list[str]) -> None:
        for name in ("_generated", "_sync"):
            shutil.rmtree(Path(self.root, "src", "agent_session_service", name), ignore_errors=True)
