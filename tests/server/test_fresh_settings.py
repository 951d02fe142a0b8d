"""What Pulsar keeps of a namespace and is not kept here is as in a new namespace, and stays so."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.rest import RestNode
from topicfold.server.fresh_settings import FRESH_SETTINGS, FreshSetting

PAY = "/admin/v2/namespaces/public/pay"
NOWHERE = "/admin/v2/namespaces/public/nowhere"
UNSET = [setting for setting in FRESH_SETTINGS if setting.value is None]
SET = [setting for setting in FRESH_SETTINGS if setting.value is not None]


@pytest.mark.parametrize("setting", UNSET, ids=lambda each: each.path)
async def test_what_a_new_namespace_does_not_set_is_unset_and_removed_again_and_again(
    rest: RestNode, setting: FreshSetting
) -> None:
    await rest.done("PUT", PAY)
    before = await rest.get(PAY)
    for method in ("GET", "DELETE", "DELETE"):
        assert (await rest.send(method, f"{PAY}/{setting.path}")).status_code == 204
    assert await rest.get(PAY) == before


@pytest.mark.parametrize("setting", SET, ids=lambda each: each.path)
async def test_what_a_new_namespace_sets_is_read_and_can_be_set_to_what_it_is(
    rest: RestNode, setting: FreshSetting
) -> None:
    await rest.done("PUT", PAY)
    await rest.done(setting.method, f"{PAY}/{setting.path}", setting.value)
    if setting.has_delete:
        await rest.done("DELETE", f"{PAY}/{setting.path}")
    assert await rest.get(f"{PAY}/{setting.path}") == setting.value


@pytest.mark.parametrize(
    ("path", "text"),
    [("encryptionRequired", "false"), ("isAllowAutoUpdateSchema", "true"), ("maxTopicsPerNamespace", "0")],
)
async def test_a_boolean_or_a_number_may_be_a_text_as_pulsars_go_tools_send_it(
    rest: RestNode, path: str, text: str
) -> None:
    await rest.done("PUT", PAY)
    await rest.done("POST", f"{PAY}/{path}", text)


@pytest.mark.parametrize(
    ("method", "path", "value", "said"),
    [
        ("POST", "autoTopicCreation", {"allowAutoTopicCreation": True}, "it is never set"),
        ("POST", "maxTopicsPerNamespace", 5, "it is always 0"),
        ("POST", "isAllowAutoUpdateSchema", False, "it is always true"),
        ("PUT", "schemaAutoUpdateCompatibilityStrategy", "Backward", 'it is always "Full"'),
        ("POST", "encryptionRequired", 0, "it is always false"),
        ("POST", "encryptionRequired", "true", "it is always false"),
        ("POST", "antiAffinity", "null", "it is never set"),
    ],
)
async def test_setting_anything_else_is_refused_with_the_reason(
    rest: RestNode, method: str, path: str, value: Any, said: str
) -> None:
    await rest.done("PUT", PAY)
    answer = await rest.send(method, f"{PAY}/{path}", value)
    assert answer.status_code == 412
    assert answer.json()["reason"] == f"{path} of a namespace is not kept here: {said}"


@pytest.mark.parametrize("setting", FRESH_SETTINGS, ids=lambda each: each.path)
async def test_a_namespace_that_does_not_exist_has_none(rest: RestNode, setting: FreshSetting) -> None:
    path = f"{NOWHERE}/{setting.path}"
    assert await rest.problem("GET", path) == (404, "namespace_not_found")
    change = "DELETE" if setting.has_delete else setting.method
    assert await rest.problem(change, path, setting.value) == (404, "namespace_not_found")


async def test_terraforms_provider_can_make_a_namespace_with_all_that_it_sets_unasked(rest: RestNode) -> None:
    await rest.done("PUT", PAY)
    await rest.done("POST", f"{PAY}/isAllowAutoUpdateSchema", True)
    await rest.done("PUT", f"{PAY}/schemaCompatibilityStrategy", "FULL")
    await rest.done("PUT", f"{PAY}/schemaAutoUpdateCompatibilityStrategy", "Full")
    await rest.done("POST", f"{PAY}/schemaValidationEnforced", False)
    await rest.done("DELETE", f"{PAY}/subscriptionExpirationTime")
    await rest.done("DELETE", f"{PAY}/autoTopicCreation")
    assert await rest.get(f"{PAY}/offloadThreshold") == -1
