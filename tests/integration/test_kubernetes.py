"""The pods of `deploy/kubernetes.yaml` do what a kubelet, a Service and their clients need of them."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from cryptography import x509

from tests.integration.pod import NAMESPACE, Pod, documents
from tests.server.auth.authority import LOOPBACK, Authority
from tests.server.auth.issuer import Issuer, issuer
from topicfold.cli.config import unknown_variables
from topicfold.server.run import GRACE_SECONDS
from topicfold.settings import Settings

CLUSTER = "https://kubernetes.default.svc.cluster.local"
KEYS = issuer("RS256", "key-of-the-cluster")


def account_token(account: str, signs: Issuer = KEYS, audience: str = "topicfold") -> str:
    """Return a token as Kubernetes makes it for a service account."""
    now = int(time.time())
    pod = {"namespace": NAMESPACE, "serviceaccount": {"name": account, "uid": "2b9cc1f6"}}
    subject = f"system:serviceaccount:{NAMESPACE}:{account}"
    return signs.token(aud=[audience], iss=CLUSTER, sub=subject, iat=now, nbf=now, jti="7f3c", **{"kubernetes.io": pod})


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def pod(kafka_bootstrap: str, fresh_topic: Callable[[], str], tmp_path: Path, authority: Authority) -> Pod:
    configured = {
        "TOPICFOLD_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "TOPICFOLD_KAFKA_TOPIC": fresh_topic(),
        "TOPICFOLD_AUTH_ISSUER": CLUSTER,
    }
    made = Pod(tmp_path / "root", configured)
    certificate, key = authority.sign("topicfold", (x509.DNSName("topicfold"), *LOOPBACK))
    certificate.rename(made.mounted("tls") / "tls.crt")
    key.rename(made.mounted("tls") / "tls.key")
    (made.mounted("keys") / "keys.json").write_text(json.dumps({"keys": [KEYS.jwk]}))
    return made


@pytest.fixture
def client(pod: Pod, authority: Authority) -> Iterator[httpx2.Client]:
    with httpx2.Client(verify=authority.trusting(), base_url=f"https://127.0.0.1:{pod.port}", timeout=10) as client:
        yield client


def probe(pod: Pod, name: str, client: httpx2.Client) -> int:
    """Return what a probe is answered, 0 for no answer."""
    scheme, path = pod.asked(name)
    assert scheme == client.base_url.scheme
    try:
        return client.get(path).status_code
    except httpx2.TransportError:
        return 0


def wait_until_ready(pod: Pod, process: subprocess.Popen[bytes], client: httpx2.Client) -> None:
    """Probe as often as the manifest allows, and once ready no more."""
    for name in ("startupProbe", "readinessProbe"):
        deadline = time.monotonic() + 120
        while probe(pod, name, client) != 200:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)


@pytest.mark.kafka
def test_a_pod_that_can_write_no_file_serves_whoever_kubernetes_vouches_for_under_the_names_of_its_service(
    pod: Pod, client: httpx2.Client
) -> None:
    with pod.running() as process:
        wait_until_ready(pod, process, client)
        assert probe(pod, "livenessProbe", client) == 200
        topics = "/admin/v2/persistent/public/default"
        for name in ("topicfold", f"topicfold.{NAMESPACE}", f"topicfold.{NAMESPACE}.svc.cluster.local"):
            asked = {"host": f"{name}:8080", "authorization": f"Bearer {account_token('topicfold-admin')}"}
            assert client.get(topics, headers=asked).status_code == 200
        for token, status in (
            (account_token("somebody"), 403),
            (account_token("topicfold-admin", audience="other"), 401),
            (account_token("topicfold-admin", issuer("RS256", KEYS.key_id, number=1)), 401),
        ):
            assert client.get(topics, headers={"authorization": f"Bearer {token}"}).status_code == status
        assert client.get(topics).status_code == 401


@pytest.mark.kafka
def test_a_pod_that_is_ended_first_has_itself_taken_out_of_service_and_then_stops(
    pod: Pod, client: httpx2.Client
) -> None:
    with pod.running(TOPICFOLD_DRAIN_SECONDS="2") as process:
        wait_until_ready(pod, process, client)
        process.send_signal(signal.SIGTERM)
        while probe(pod, "readinessProbe", client) == 200:
            assert process.poll() is None
        assert probe(pod, "readinessProbe", client) in (503, 0)
        assert process.wait(pod.spec["terminationGracePeriodSeconds"]) == 0


def test_a_pod_is_given_more_time_to_end_than_a_node_may_take(tmp_path: Path) -> None:
    pod = Pod(tmp_path, {})
    drain_seconds = float(pod.environment["TOPICFOLD_DRAIN_SECONDS"])
    longest = drain_seconds + Settings(drain_seconds=drain_seconds).request_timeout_seconds + GRACE_SECONDS
    assert longest < pod.spec["terminationGracePeriodSeconds"]
    # Two probes that fail take a node out of service wherever probes decide that.
    failing = pod.container["readinessProbe"]
    assert failing["periodSeconds"] * failing["failureThreshold"] < drain_seconds


def test_a_pod_is_told_nothing_but_settings_and_listens_where_its_service_leads(tmp_path: Path) -> None:
    pod = Pod(tmp_path, {})
    assert unknown_variables(pod.environment) == []
    (port,) = pod.container["ports"]
    assert port["containerPort"] == Settings().port
    (service,) = [each for each in documents() if each["kind"] == "Service"]
    assert [each["targetPort"] for each in service["spec"]["ports"]] == [port["name"]]
    labels = [each["metadata"]["labels"] for each in documents()]
    assert all(each == service["spec"]["selector"] for each in labels)


def test_what_a_file_of_a_pod_is_called_is_the_same_in_its_settings_and_its_mounts(tmp_path: Path) -> None:
    pod = Pod(tmp_path, {})
    mounts = {each["name"]: each["mountPath"] for each in pod.container["volumeMounts"]}
    assert set(mounts) == {each["name"] for each in pod.spec["volumes"]}
    files = [value for value in pod.environment.values() if value.startswith("/")]
    assert len(files) == 3
    assert all(any(file.startswith(f"{path}/") for path in mounts.values()) for file in files)
