"""A bill of materials inside every wheel: what the package declares that it needs (PEP 770).

Hatchling calls this when it builds a wheel. The package bundles nothing, so the list follows from
``pyproject.toml`` alone, and the same sources give the same bytes.
"""

import json
import re
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LOCK = Path(__file__).with_name("build.lock")
"""The packages that build a release, each by its version and checksum."""

DEVELOPMENT = {"dev", "docs", "release", "test", "torch"}
"""Extras that are no part of what a user runs."""
REQUIREMENT = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*(.*)$")


def describe_requirement(requirement: str, scope: str) -> dict[str, Any]:
    """A component of the bill: its name, and the versions that are accepted as a property."""
    ((name, versions),) = REQUIREMENT.findall(requirement.split(";")[0].strip())
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name.lower()}",
        "name": name,
        "purl": f"pkg:pypi/{name.lower()}",
        "scope": scope,
        "properties": [{"name": "separatrix:versions", "value": versions}],
    }


def list_tools() -> list[dict[str, Any]]:
    """The packages of the lock, which built this wheel."""
    line = re.compile(r"^(\S+)==(\S+) --hash=sha256:(\w+)$", re.MULTILINE)
    return [
        {
            "type": "library",
            "name": name,
            "version": version,
            "hashes": [{"alg": "SHA-256", "content": checksum}],
        }
        for name, version, checksum in line.findall(LOCK.read_text("utf-8"))
    ]


def list_materials(
    name: str, version: str, license_id: str, required: list[str], optional: list[str]
) -> dict[str, Any]:
    """The bill of materials in the CycloneDX form, without times or random numbers."""
    components = {
        part["name"]: part
        for part in [
            *(describe_requirement(text, "optional") for text in optional),
            *(describe_requirement(text, "required") for text in required),
        ]
        if part["name"] != name
    }
    whole = f"pkg:pypi/{name}@{version}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": whole,
                "name": name,
                "version": version,
                "purl": whole,
                "licenses": [{"license": {"id": license_id}}],
            },
            "tools": {"components": list_tools()},
        },
        "components": [components[part] for part in sorted(components)],
        "dependencies": [
            {
                "ref": whole,
                "dependsOn": sorted(part["bom-ref"] for part in components.values()),
            }
        ],
    }


class MaterialsHook(BuildHookInterface):
    """Write the bill before the wheel is packed, and name it to hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add ``separatrix.cdx.json`` to the folder of bills of the wheel."""
        core = self.metadata.core
        optional = [
            text
            for extra, texts in core.optional_dependencies.items()
            if extra not in DEVELOPMENT
            for text in texts
        ]
        bill = list_materials(
            core.name,
            self.metadata.version,
            core.license_expression,
            core.dependencies,
            optional,
        )
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name) / f"{core.name}.cdx.json"
        path.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
        build_data["sbom_files"].append(str(path))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file that was packed."""
        self._folder.cleanup()
