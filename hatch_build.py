"""Build hook: compile the Scala part into the one jar of the wheel, or of an editable install."""

from __future__ import annotations

import importlib.util
import logging
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JarBuildHook(BuildHookInterface):  # type: ignore[misc, type-arg, unused-ignore]
    """Makes sure that sparkext/jars holds the jar of these sources for the installed PySpark."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile unless the jar is current; a failure ends the build with one message."""
        toolchain = _load_toolchain(Path(self.root))
        package = Path(self.root, "sparkext")
        jar = package / "jars" / toolchain.JAR_NAME
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
        try:
            pyspark = toolchain.pyspark_folder()
            sources = toolchain.scala_sources(package / "jvm")
            spark_version = toolchain.pyspark_version(pyspark)
            stamp = spark_version, toolchain.source_hash(sources)
            if toolchain.read_stamp(jar) != stamp:
                toolchain.compile_jar(sources, pyspark / "jars", spark_version, jar)
        except toolchain.ToolchainError as error:
            # Not an exception: its traceback would hide the message.
            sys.exit(f"spark-cqels cannot be built. {error}")
        # The jar is not under version control, so the builder would leave it out.
        build_data["artifacts"].append(f"sparkext/jars/{toolchain.JAR_NAME}")


def _load_toolchain(root: Path) -> ModuleType:
    """The module sparkext.toolchain, loaded by path: the package itself needs its dependencies."""
    path = root / "sparkext" / "toolchain.py"
    spec = importlib.util.spec_from_file_location("toolchain", path)
    if spec is None or spec.loader is None:
        sys.exit(f"spark-cqels cannot be built: {path} is missing")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
