"""What a kubelet does with the pod of `deploy/kubernetes.yaml`: its environment, its files and its probes."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests.ports import free_ports
from tests.prerequisites import CHECKOUT

MANIFEST = CHECKOUT / "deploy" / "kubernetes.yaml"
NAMESPACE = "kafka-tools"


class Pod:
    """One replica, whose volumes are below `root`; what `configured` says is in its ConfigMap and Secret."""

    def __init__(self, root: Path, configured: Mapping[str, str]) -> None:
        (deployment,) = [each for each in documents() if each["kind"] == "Deployment"]
        self.spec: Mapping[str, Any] = deployment["spec"]["template"]["spec"]
        (self.container,) = self.spec["containers"]
        (self.port,) = free_ports(1)
        self._root = root
        self._configured = configured

    @property
    def environment(self) -> dict[str, str]:
        """What the process is given, and nothing else: not even a home."""
        said = dict(self._configured)
        for entry in self.container["env"]:
            value = entry["value"] if "value" in entry else {"metadata.namespace": NAMESPACE}[_field_of(entry)]
            said[entry["name"]] = re.sub(r"\$\((\w+)\)", lambda named: said[named[1]], value)
        return said

    def mounted(self, volume: str) -> Path:
        """Return where the files of a volume are to be put."""
        (path,) = [each["mountPath"] for each in self.container["volumeMounts"] if each["name"] == volume]
        directory = self._root / path.removeprefix("/")
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    @contextmanager
    def running(self, **instead: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run the container, which can write no file, with `instead` of what the manifest says."""
        paths = {name: str(self._root / value[1:]) for name, value in self.environment.items() if value[:1] == "/"}
        here = {"PYTHONPATH": str(CHECKOUT / "engine"), "TOPICFOLD_PORT": str(self.port)}
        process = subprocess.Popen(
            [sys.executable, "-m", "topicfold", *self.container["args"]],
            env={**self.environment, **paths, **here, **instead},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (0, 0)),
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def asked(self, probe: str) -> tuple[str, str]:
        """Return scheme and path of what a probe asks."""
        asked = self.container[probe]["httpGet"]
        (port,) = self.container["ports"]
        assert asked["port"] == port["name"]
        return asked["scheme"].lower(), asked["path"]


def documents() -> list[dict[str, Any]]:
    """Return what the manifest creates."""
    return list(yaml.safe_load_all(MANIFEST.read_text()))


def _field_of(entry: Mapping[str, Any]) -> str:
    return str(entry["valueFrom"]["fieldRef"]["fieldPath"])
