"""How one gets in at AWS, and what is told when one does not."""

from pathlib import Path

import pytest

from hibernator.executors.aws.account import AwsAccount, AwsRefusedError, Keys
from hibernator.executors.aws.session import sign_in
from hibernator.executors.protocol import ExecutorError
from support.aws import ACCOUNT, REGION, AwsInTest

ROLE = f"arn:aws:iam::{ACCOUNT}:role/operator"


async def who(account: AwsAccount) -> str:
    try:
        return str((await account.read("sts", "get_caller_identity"))["Arn"])
    finally:
        await account.close()


async def test_the_operators_service_account_is_enough(
    aws: AwsInTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("a.service-account.token")
    for name, value in (
        ("AWS_WEB_IDENTITY_TOKEN_FILE", str(token)),
        ("AWS_ROLE_ARN", ROLE),
        ("AWS_ROLE_SESSION_NAME", "pod"),
        ("AWS_ENDPOINT_URL_STS", aws.proxy.url),
        ("AWS_DEFAULT_REGION", REGION),
    ):
        monkeypatch.setenv(name, value)
    account = AwsAccount(sign_in(None, None, REGION, None), REGION)
    assert await who(account) == f"arn:aws:sts::{ACCOUNT}:assumed-role/operator/pod"
    assert aws.proxy.calls == ["AssumeRoleWithWebIdentity", "GetCallerIdentity"]


async def test_without_any_identity_it_is_told_how_to_give_one(
    aws: AwsInTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    account = AwsAccount(sign_in(None, None, REGION, aws.proxy.url), REGION, endpoint=aws.proxy.url)
    with pytest.raises(AwsRefusedError, match="annotate the operator's service account"):
        await who(account)


@pytest.mark.parametrize("status", [200, 404, 500])
async def test_what_something_else_than_aws_answers_is_not_repeated(aws: AwsInTest, status: int) -> None:
    aws.proxy.rewrite = lambda _action, _body: b"inner secrets of another service"
    aws.proxy.restatus = status
    with pytest.raises(ExecutorError) as caught:
        await aws.account().read("sts", "get_caller_identity")
    assert "inner secrets" not in str(caught.value)


def test_keys_do_not_show_themselves() -> None:
    assert "very-secret" not in repr(Keys("id", "very-secret", "very-secret"))


async def test_another_region_is_the_same_account_elsewhere(aws: AwsInTest) -> None:
    there = aws.account().at("eu-west-1")
    await there.read("ec2", "describe_instances")
    assert "/eu-west-1/ec2/" in aws.proxy.authorizations[-1]
    assert aws.account().region == REGION
