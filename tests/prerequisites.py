"""What tests need beside Python: Java, and jars that Maven fetches once into a directory of the checkout.

Afterwards nothing is downloaded. Whatever is missing is told with the script that puts it there.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")

CHECKOUT = Path(__file__).parents[1]
OLDEST_JAVA = 17
SHORT_LIVED_JVM = "-XX:TieredStopAtLevel=1"
"""The option that has a JVM compile its code fast, and not again better: none of the tests' lives for long."""
PAUSES_S = (10.0, 30.0, 90.0, 300.0)
"""How long a repository that did not deliver is left alone before it is asked again."""
_DISTRUST = re.compile("valid certification path|self-signed certificate|local issuer certificate")
"""What Java's tools and npm say of a repository whose certificate they do not trust."""

_MAVEN_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>topicfold</groupId>
  <artifactId>for-tests</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}  </dependencies>
</project>
"""
_DEPENDENCY = "    <dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>\n"


class Unavailable(Exception):
    """Something that a test needs is not here and cannot be had; the text says what to do about it."""


class Undelivered(Unavailable):
    """A repository did not deliver it this time; the text ends with what the one who asked it said."""


@contextmanager
def needed() -> Iterator[None]:
    """Skip the test if something it needs is unavailable; under CI fail it."""
    try:
        yield
    except Unavailable as reason:
        if os.environ.get("CI"):
            pytest.fail(str(reason))
        pytest.skip(str(reason))


def java(script: str) -> str:
    """Return the command that runs Java 17 or newer; `script` is what to run where there is none.

    Raises:
        Unavailable: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else "java"
    if not shutil.which(command):
        raise Unavailable(f"Java is missing: run {script}")
    text = subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr
    version = re.search(r'version "(\d+)', text)
    if version is None or int(version[1]) < OLDEST_JAVA:
        raise Unavailable(f"{command} is older than Java {OLDEST_JAVA}: run {script}")
    return command


def jars(directory: Path, coordinates: Sequence[str], script: str) -> Path:
    """Return `directory`, holding the jars of these artifacts and all they need at run time.

    They are fetched now if they are not there; `script` is what to run where Maven is missing.

    Raises:
        Unavailable: Maven is missing or could not fetch them.
    """

    def fetch(unfinished: Path) -> None:
        if not shutil.which("mvn"):
            raise Unavailable(f"Maven is missing: run {script}")
        dependencies = "".join(_DEPENDENCY.format(*each.split(":")) for each in coordinates)
        (directory.parent / "pom.xml").write_text(_POM.format(dependencies=dependencies))
        repository = cache_option("-Dmaven.repo.local=", _maven_home(), directory.parent / "repository")
        goal = [_MAVEN_GOAL, f"-DoutputDirectory={unfinished}", "-DincludeScope=runtime"]
        command = ["mvn", "-q", "-B", *repository, *goal]
        maven = subprocess.run(command, cwd=directory.parent, capture_output=True, text=True, check=False)
        if maven.returncode:
            raise Undelivered(f"Maven could not fetch {', '.join(coordinates)}:\n{maven.stdout[-2000:]}")

    return made_once(directory, fetch)


def made_once(directory: Path, make: Callable[[Path], None]) -> Path:
    """Return `directory`; if it is not there, `make` fills it under another name first, in one process at a time.

    Raises:
        Unavailable: `make` could not.
    """
    if directory.is_dir():
        return directory
    directory.parent.mkdir(exist_ok=True)
    with _locked(directory.parent / "lock"):
        if not directory.is_dir():
            unfinished = directory.with_name(f"{directory.name}.part")
            shutil.rmtree(unfinished, ignore_errors=True)
            make(unfinished)
            unfinished.rename(directory)
    return directory


def cache_option(option: str, usual: Path | None, here: Path) -> list[str]:
    """Return what has a tool keep its cache `here`; nothing where it may write to its `usual` place, if it has any.

    A home may be read-only or not there, as in many containers.
    """
    if usual is not None:
        there = next(each for each in (usual, *usual.parents) if each.exists())
        if os.access(there, os.W_OK):
            return []
    return [f"{option}{here}"]


def _maven_home() -> Path | None:
    """Return where Maven keeps things: as Java has it, in the home that the system says is the user's."""
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir) / ".m2"
    except KeyError:
        return None


def fetched(get: Callable[[], T]) -> T:
    """Return what `get` does; what a repository does not deliver is asked for again, after each of `PAUSES_S`.

    Not where its certificate is not trusted: that does not pass. For the scripts that prepare the tests: no test has
    that much time.

    Raises:
        Unavailable: `get` could not.
    """
    for pause_s in PAUSES_S:
        try:
            return get()
        except Undelivered as reason:
            if _DISTRUST.search(str(reason)):
                java, npm = "JDK_JAVA_OPTIONS=-Djavax.net.ssl.trustStore=FILE", "NODE_EXTRA_CA_CERTS=FILE"
                raise Unavailable(f"{reason}\nName the CA of its certificate: {java}, for npm {npm}.") from reason
            print(f"{reason}\nAsking again in {pause_s:g} s.", file=sys.stderr, flush=True)
            time.sleep(pause_s)
    return get()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
