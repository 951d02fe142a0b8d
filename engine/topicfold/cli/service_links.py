"""Variables that look like settings and are none: what Kubernetes tells each pod of a Service called topicfold."""

from __future__ import annotations

from collections.abc import MutableMapping

_PREFIX = "TOPICFOLD"
_HOST = "_SERVICE_HOST"


def forget_service_links(environment: MutableMapping[str, str]) -> None:
    """Drop all that Kubernetes has put there for Services whose names begin with topicfold.

    >>> environment = {"TOPICFOLD_SERVICE_HOST": "10.96.0.7", "TOPICFOLD_PORT": "tcp://10.96.0.7:8080"}
    >>> forget_service_links(environment)
    >>> environment
    {}

    Source: Kubernetes, environment variables of a pod for each Service (`enableServiceLinks`).
    """
    services = [each.removesuffix(_HOST) for each in environment if each.startswith(_PREFIX) and each.endswith(_HOST)]
    for service in services:
        for name in list(environment):
            is_url = name == f"{service}_PORT" and "://" in environment[name]
            if is_url or name.startswith((f"{service}_SERVICE_", f"{service}_PORT_")):
                del environment[name]
