"""What the documents name is there."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from topicfold.cli import main as entry
from topicfold.server import metrics
from topicfold.wire import headers

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "deploy" / "README.md"]
LINKED = [*DOCUMENTS, *(ROOT / each for each in ("engine/README.md", "tests/README.md")), *ROOT.glob("schemas/*.md")]
# Of pulsar, spark-submit and scripts/bench.
OTHERS = {"--expiry-time", "--archives", "--master", "--large"}


def flags(command: Any) -> Iterator[str]:
    """Yield the flags of a command, and of those below it."""
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)
    for each in getattr(command, "commands", {}).values():
        yield from flags(each)


@pytest.fixture(scope="module")
def known() -> set[str]:
    groups = [get_command(import_module(module).app) for module, _ in entry._GROUPS.values()]
    return {"--help", *OTHERS, *(flag for each in (get_command(entry.app), *groups) for flag in flags(each))}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_flag_that_a_sentence_names_is_one(document: Path, known: set[str]) -> None:
    assert set(re.findall(r"`(--[a-z][a-z-]+)", document.read_text())) - known == set()


def anchors(text: str) -> set[str]:
    """Return what a link into a document may name: its headings, as GitHub spells them, and places of its own."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings} | {
        *re.findall(r'<a id="([^"]+)"', text)
    }


@pytest.mark.parametrize("document", LINKED, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_link_leads_somewhere(document: Path) -> None:
    for place, anchor in re.findall(r"\]\(([^):#]*)(?:#([^)]*))?\)", document.read_text()):
        target = (document.parent / place).resolve() if place else document
        assert target.exists(), place
        assert not anchor or anchor in anchors(target.read_text()), f"{place}#{anchor}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_command_that_is_shown_is_one(document: Path) -> None:
    groups = {name: get_command(import_module(module).app) for name, (module, _) in entry._GROUPS.items()}
    names = {name: set(getattr(group, "commands", ())) for name, group in groups.items()}
    alone = set(getattr(get_command(entry.app), "commands", ())) - set(names)
    for command, below in re.findall(
        r"topicfold ([a-z][A-Za-z-]*)(?: ([a-z][a-z-]*[a-z])(?![-\w…]))?", document.read_text()
    ):
        assert command in alone or (command in names and (not below or below in names[command])), (command, below)


def metrics_in(source: str) -> Iterator[str]:
    """Yield the metrics that `source` makes as Prometheus shows them, `_total` and the names of labels with it."""
    for call in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and node.args):
        name, *others = call.args
        if isinstance(name, ast.Constant) and str(name.value).startswith("topicfold_"):
            given = [each for each in (*others, *(each.value for each in call.keywords)) if isinstance(each, ast.Tuple)]
            labels = "".join(f"{{{','.join(ast.literal_eval(each))}}}" for each in given)
            total = "_total" if "Counter" in ast.unparse(call.func) else ""
            yield f"{str(name.value).removesuffix('_total')}{total}{labels}"


def test_each_metric_is_documented_and_no_other() -> None:
    documented = re.findall(r"^\| `(topicfold_[^`]+)`", (ROOT / "docs" / "health.md").read_text(), re.MULTILINE)
    assert sorted(documented) == sorted(metrics_in(Path(metrics.__file__).read_text()))


def test_each_header_that_topicfold_gives_a_meaning_is_documented() -> None:
    section = (ROOT / "docs" / "reference.md").read_text().partition("\n## Headers\n")[2].partition("\n## ")[0]
    parameters = json.loads((ROOT / "docs" / "openapi.json").read_text())["components"]["parameters"].values()
    answers = {headers.ETAG, headers.LOG_POSITION, headers.LOG_AGE, headers.OPERATION_ID, headers.RETRY_AFTER}
    asked = {each["name"] for each in parameters if each["in"] == "header"}
    kafka_topics = {headers.DELETED_KAFKA_TOPIC, headers.TAKEN_KAFKA_TOPIC}
    named = {*asked, *answers, *kafka_topics, headers.QUERY, headers.PROPERTIES}
    assert set(re.findall(r"`([A-Z][A-Za-z-]+)[:`]", section)) == named


def test_alerts_are_about_metrics_that_there_are_and_on_all_that_somebody_is_to_be_paged_for() -> None:
    [group] = yaml.safe_load((ROOT / "deploy" / "prometheus-rules.yaml").read_text())["groups"]
    assert len({rule["alert"] for rule in group["rules"]}) == len(group["rules"]) == 14
    known = dict(re.findall(r"(\w+)(\{.*\})?", each)[0] for each in metrics_in(Path(metrics.__file__).read_text()))
    for rule in group["rules"]:
        asked = re.findall(r"(topicfold_\w+)(?:\{(\w+)=)?", rule["expr"])
        assert asked
        assert all(name in known and label in known[name] for name, label in asked)
        shown = re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])
        assert all(each in ("instance", "job") or each in known[asked[0][0]] for each in shown)
    document = (ROOT / "docs" / "health.md").read_text()
    paged = re.findall(
        r"`(topicfold_\w+ (?:==|>) \d+)`", document.partition("Page somebody")[2].partition("| metric")[0]
    )
    alerts = {rule["expr"] for rule in group["rules"] if rule["labels"]["severity"] == "page"}
    assert len(paged) == 4
    assert set(paged) <= alerts


@pytest.mark.parametrize("unit", sorted((ROOT / "deploy").glob("*.service")), ids=lambda path: path.name)
def test_a_unit_knows_its_flags_and_is_told_by_the_one_file_of_settings(unit: Path, known: set[str]) -> None:
    text = unit.read_text()
    (command,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    assert set(re.findall(r" (--[a-z][a-z-]+)", command)) - known == set()
    assert "\nEnvironmentFile=/etc/topicfold/environment\n" in text
    named = re.findall(r"\$\{(\w+)\}", command)
    assert "TOPICFOLD_KAFKA_BOOTSTRAP" in named
    assert all(f"    {name}=" in (ROOT / "deploy" / "README.md").read_text() for name in named)


def confinement(name: str) -> set[str]:
    """Return the settings of a unit that keep it from what it does not need."""
    text = (ROOT / "deploy" / name).read_text()
    kinds = "Capability|LockPersonality|MemoryDeny|NoNew|Private|Protect|Restrict|SystemCall|UMask"
    return set(re.findall(rf"^((?:{kinds})\w*=.*)$", text, re.MULTILINE))


def test_units_are_confined_alike_but_for_java_which_makes_code_while_it_runs() -> None:
    node, trim, job = map(confinement, ("topicfold.service", "topicfold-trim.service", "topicfold-compact.service"))
    assert "SystemCallFilter=@system-service" in node
    assert node == trim == job | {"MemoryDenyWriteExecute=yes"}


def test_what_a_node_says_on_stderr_goes_to_the_journal_though_its_stdout_goes_nowhere() -> None:
    unit = (ROOT / "deploy" / "topicfold.service").read_text()
    assert "\nStandardOutput=null\nStandardError=journal\n" in unit, (
        "by itself, systemd has stderr go where stdout does"
    )


@pytest.mark.parametrize("example", ["topicfold-compact.service", "compact-kubernetes.sh"])
def test_a_job_of_a_user_without_a_home_says_where_its_connector_is_put(example: str) -> None:
    assert "spark.jars.ivy=/" in (ROOT / "deploy" / example).read_text()


def test_the_job_on_kubernetes_is_told_of_kafka_by_the_secret_of_the_nodes() -> None:
    script = (ROOT / "deploy" / "compact-kubernetes.sh").read_text()
    manifest = next(yaml.safe_load_all((ROOT / "deploy" / "kubernetes.yaml").read_text()))
    (node,) = manifest["spec"]["template"]["spec"]["containers"]
    (secret,) = [each["secretRef"]["name"] for each in node["envFrom"] if "secretRef" in each]
    assert f".driver.secretKeyRef.TOPICFOLD_KAFKA_SETTINGS={secret}:TOPICFOLD_KAFKA_SETTINGS " in script


def test_the_image_has_what_the_units_need_and_is_run_as_the_user_that_the_manifest_names() -> None:
    image = (ROOT / "deploy" / "Containerfile").read_text()
    manifest = next(yaml.safe_load_all((ROOT / "deploy" / "kubernetes.yaml").read_text()))
    pod = manifest["spec"]["template"]["spec"]
    (user,) = re.findall(r"^USER (.*)$", image, re.MULTILINE)
    assert user == f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}"
    installed = re.findall(r"pip install .*?(\[[a-z,]+\])", (ROOT / "deploy" / "README.md").read_text())
    assert re.findall(r"pip install .*?(\[[a-z,]+\])", image) == installed
    copied = re.findall(r"^COPY ([^-].*) /source", image, re.MULTILINE)
    assert all((ROOT / each).exists() for names in copied for each in names.split())


def test_the_figures_of_the_readme_are_those_of_the_document_of_numbers() -> None:
    shown = (ROOT / "README.md").read_text().partition("\n## Numbers\n")[2].partition("\n## ")[0]
    measured = [line.split("|")[2] for line in shown.splitlines() if line.startswith("| ")][1:]
    assert len(measured) > 5
    known = set(re.findall(r"\d[\d.,]*", (ROOT / "docs" / "numbers.md").read_text()))
    assert {figure for each in measured for figure in re.findall(r"\d[\d.,]*", each)} - known == set()
