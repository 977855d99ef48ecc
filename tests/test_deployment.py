"""The container files are linted and agree with the program; nothing is built here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from api.settings import Settings

ROOT = Path(__file__).parents[1]
CONTAINERFILE = (ROOT / "Containerfile").read_text("utf-8")
COMPOSE = YAML(typ="safe").load(ROOT / "compose.yaml")
RULES = "{extends: default, rules: {line-length: {max: 120}, document-start: disable}}"


def tool(name: str) -> str:
    """Path of a linter, beside the interpreter or on the search path; skips where it is missing."""
    found = shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def assert_silent(*command: str, **environment: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr


def test_containerfile_is_linted():
    assert_silent(tool("hadolint"), "Containerfile")


def test_compose_file_is_linted():
    assert_silent(tool("yamllint"), "--strict", "-d", RULES, "compose.yaml")


def test_compose_file_fits_the_schema():
    assert_silent(tool("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", "compose.yaml")


def test_proxy_configuration_is_valid():
    site = {"GRADER_SITE": "http://localhost:8080"}
    assert_silent(tool("caddy"), "validate", "--config", "deploy/Caddyfile", "--adapter", "caddyfile", **site)


def test_what_is_copied_is_there_and_is_sent_to_the_builder():
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", CONTAINERFILE, re.MULTILINE)
    sources = {name for line in copied for name in line.split()}
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    assert sources == sent
    assert all((ROOT / name).exists() for name in sources)


def test_the_image_runs_without_rights_and_holds_no_secret():
    final = CONTAINERFILE.rpartition("\nFROM ")[2]
    assert re.search(r"^USER [1-9]\d*$", final, re.MULTILINE)
    assert "HEALTHCHECK" in final
    assert not re.search(r"(?i)pepper|password|secret", CONTAINERFILE)


def test_settings_named_in_the_files_exist():
    named = set(re.findall(r"\b(GRADER_[A-Z_]+)=", CONTAINERFILE))
    named |= {name for name in COMPOSE["x-grader"]["environment"] if name.startswith("GRADER_")}
    known = {f"GRADER_{name.upper()}" for name in Settings.model_fields}
    assert named
    assert named <= known


@pytest.mark.parametrize("name", sorted(COMPOSE["services"]))
def test_services_of_the_compose_file(name):
    service = COMPOSE["services"][name]
    assert service["read_only"] is True
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert name == "database" or service["cap_drop"] == ["ALL"]
    assert "ports" not in service or name == "proxy"
    for key, value in service.get("environment", {}).items():
        secret = "PASSWORD" in key or "PEPPER" in key
        assert not secret or (value.startswith("${") and ":?" in value)
