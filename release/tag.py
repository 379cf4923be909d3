"""Check that a tag may become a release: ``python -m release.tag v1.2.3``."""

from __future__ import annotations

import re
import sys
import tomllib

from release.make_dist import ROOT, read_version


def find_faults(tag: str) -> list[str]:
    """What must be mended before a release of this tag."""
    version = read_version()
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    papers = tomllib.loads((ROOT / "papers/pyproject.toml").read_text("utf-8"))["project"]
    faults = []
    if tag != f"v{version}":
        faults.append(f"the tag is {tag}, but the package says version {version}")
    if not re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", changes, re.MULTILINE):
        faults.append(f"CHANGELOG.md has no heading '## {version} (YYYY-MM-DD)'")
    if f"\nversion: {version}\n" not in citation:
        faults.append(f"CITATION.cff does not say version: {version}")
    if papers["version"] != version:
        faults.append(f"papers/pyproject.toml says version {papers['version']}, not {version}")
    if "urls" not in project:
        faults.append("pyproject.toml has no [project.urls]: state where the project can be found")
    return faults


if __name__ == "__main__":
    found = find_faults(sys.argv[1])
    if found:
        sys.exit("\n".join(found))
