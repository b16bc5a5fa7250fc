"""Build hook: compile the Scala part into the jar of the wheel, or of an editable install.

The jar is for the PySpark that builds. Further folders of PySpark, named in CQELS_BUILD_PYSPARKS as in
PATH, give the wheel a jar each; for others the first session compiles one (``sparkext/jar.py``).
"""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JarBuildHook(BuildHookInterface):  # type: ignore[misc, type-arg, unused-ignore]
    """Makes sure that sparkext/jars holds the jars of these sources, and the wheel has those."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile unless the jar is current; a failure ends the build with one message."""
        toolchain = _load_toolchain(Path(self.root))
        package = Path(self.root, "sparkext")
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
        try:
            named = os.environ.get("CQELS_BUILD_PYSPARKS", "").split(os.pathsep)
            pysparks = [toolchain.pyspark_folder(), *map(Path, filter(None, named))]
            jars = [_compile(toolchain, package, pyspark) for pyspark in pysparks]
        except toolchain.ToolchainError as error:
            # Not an exception: its traceback would hide the message.
            sys.exit(f"spark-cqels cannot be built. {error}")
        # Jars are not under version control, so the builder would leave them out.
        build_data["artifacts"] += [f"sparkext/jars/{jar.name}" for jar in jars]


def _compile(toolchain: ModuleType, package: Path, pyspark: Path) -> Path:
    """The jar for one PySpark, compiled unless it is current."""
    version, jars = toolchain.pyspark_version(pyspark), pyspark / "jars"
    sources = toolchain.scala_sources(package / "jvm", version)
    digest = toolchain.source_hash(sources)
    stamp = toolchain.Stamp(version, toolchain.scala_version(jars), digest)
    jar = Path(package, "jars", stamp.jar_name)
    if toolchain.read_stamp(jar) != stamp:
        toolchain.compile_jar(sources, jars, version, jar)
    return jar


def _load_toolchain(root: Path) -> ModuleType:
    """The module sparkext.toolchain, loaded by path: the package itself needs its dependencies."""
    path = root / "sparkext" / "toolchain.py"
    spec = importlib.util.spec_from_file_location("toolchain", path)
    if spec is None or spec.loader is None:
        sys.exit(f"spark-cqels cannot be built: {path} is missing")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
