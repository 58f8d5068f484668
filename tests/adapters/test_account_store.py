"""What every AccountStore promises."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from chalicelib.contracts.account import ApiKey, WorkerPrincipal
from chalicelib.domain.errors import Conflict, KeyNotFound, UploadNotFound
from chalicelib.ports import AccountStore, UploadRecord
from tests.adapters.record_builders import NOON, at_once
from tests.adapters.stores import ACCOUNT_STORES

WORKER = WorkerPrincipal(job_id="job-1", attempt=1, site="site-1", role="client")


@pytest.fixture(params=ACCOUNT_STORES)
def accounts(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AccountStore]:
    with ACCOUNT_STORES[request.param](tmp_path) as store:
        yield store


def key(number: int = 1) -> ApiKey:
    return ApiKey(id=f"key-{number}", label=f"laptop {number}", created_at=NOON + timedelta(hours=number))


def upload(owner: str = "anna") -> UploadRecord:
    return UploadRecord("u-1", owner, "anna-bucket", "jobs/w/shards/a.zip", 7 * 2**30, 2**26, "store-1", NOON)


def test_a_user_without_a_bucket_has_none(accounts: AccountStore) -> None:
    assert accounts.bucket_of("anna") is None


def test_a_bucket_is_remembered_for_its_user(accounts: AccountStore) -> None:
    accounts.set_bucket("anna", "a")
    assert accounts.bucket_of("anna") == "a"


def test_a_bucket_knows_its_owner(accounts: AccountStore) -> None:
    accounts.set_bucket("anna", "a")
    assert (accounts.owner_of("a"), accounts.owner_of("platform")) == ("anna", None)


def test_a_second_bucket_does_not_replace_the_first(accounts: AccountStore) -> None:
    accounts.set_bucket("anna", "a")
    assert accounts.set_bucket("anna", "b") == "a"


def test_a_bucket_of_another_user_is_refused(accounts: AccountStore) -> None:
    accounts.set_bucket("anna", "a")
    with pytest.raises(Conflict):
        accounts.set_bucket("bert", "a")


def test_sixteen_first_buckets_at_once_agree_on_one(accounts: AccountStore) -> None:
    assert len(set(at_once(16, lambda n: accounts.set_bucket("anna", f"b-{n}")))) == 1


def test_the_sweep_sees_everybodys_bucket(accounts: AccountStore) -> None:
    accounts.set_bucket("bert", "b")
    accounts.set_bucket("anna", "a")
    assert set(accounts.buckets()) == {("anna", "a"), ("bert", "b")}


def test_keys_are_listed_newest_first(accounts: AccountStore) -> None:
    for number in (1, 2, 3):
        accounts.add_key("anna", key(number), name="Anna", secret_hash=f"h-{number}")
    assert [k.id for k in accounts.keys("anna")] == ["key-3", "key-2", "key-1"]


def test_a_key_is_read_back_as_it_was(accounts: AccountStore) -> None:
    accounts.add_key("anna", key(), name="Anna", secret_hash="h")
    assert accounts.keys("anna") == (key(),)


def test_keys_of_another_user_are_not_listed(accounts: AccountStore) -> None:
    accounts.add_key("anna", key(), name="Anna", secret_hash="h")
    assert list(accounts.keys("bert")) == []


def test_a_key_opens_its_users_door(accounts: AccountStore) -> None:
    accounts.add_key("anna", key(), name="Anna", secret_hash="h")
    assert accounts.user_of_key("h", at=NOON) == ("anna", "Anna")


def test_an_unknown_key_opens_nothing(accounts: AccountStore) -> None:
    assert accounts.user_of_key("h", at=NOON) is None


def test_the_use_of_a_key_is_noted(accounts: AccountStore) -> None:
    accounts.add_key("anna", key(), name="Anna", secret_hash="h")
    accounts.user_of_key("h", at=NOON)
    accounts.user_of_key("h", at=NOON + timedelta(hours=1))
    assert [k.last_used_at for k in accounts.keys("anna")] == [NOON + timedelta(hours=1)]


def test_a_revoked_key_opens_nothing(accounts: AccountStore) -> None:
    accounts.add_key("anna", key(), name="Anna", secret_hash="h")
    accounts.remove_key("anna", "key-1")
    assert accounts.user_of_key("h", at=NOON) is None


def test_a_key_of_someone_else_cannot_be_revoked(accounts: AccountStore) -> None:
    accounts.add_key("anna", key(), name="Anna", secret_hash="h")
    with pytest.raises(KeyNotFound):
        accounts.remove_key("bert", "key-1")
    assert accounts.user_of_key("h", at=NOON) is not None


def test_a_key_that_is_absent_cannot_be_revoked(accounts: AccountStore) -> None:
    with pytest.raises(KeyNotFound):
        accounts.remove_key("anna", "key-1")


def test_an_upload_is_read_back_as_it_was(accounts: AccountStore) -> None:
    accounts.add_upload(upload())
    assert accounts.upload("anna", "u-1") == upload()


def test_an_upload_of_someone_else_is_not_found(accounts: AccountStore) -> None:
    accounts.add_upload(upload())
    with pytest.raises(UploadNotFound):
        accounts.upload("bert", "u-1")


def test_a_forgotten_upload_is_not_found(accounts: AccountStore) -> None:
    accounts.add_upload(upload())
    accounts.remove_upload("anna", "u-1")
    with pytest.raises(UploadNotFound):
        accounts.upload("anna", "u-1")


def test_forgetting_someone_elses_upload_does_nothing(accounts: AccountStore) -> None:
    accounts.add_upload(upload())
    accounts.remove_upload("bert", "u-1")
    assert accounts.upload("anna", "u-1") == upload()


def test_a_code_gives_the_worker_it_was_made_for(accounts: AccountStore) -> None:
    accounts.add_worker_code("c", WORKER)
    assert accounts.redeem_code("c", nonce="n", token_hash="t") == WORKER


def test_a_token_is_its_workers(accounts: AccountStore) -> None:
    accounts.add_worker_code("c", WORKER)
    accounts.redeem_code("c", nonce="n", token_hash="t")
    assert accounts.worker_of_token("t") == WORKER


def test_an_unknown_code_and_an_unknown_token_give_nothing(accounts: AccountStore) -> None:
    assert (accounts.redeem_code("c", nonce="n", token_hash="t"), accounts.worker_of_token("t")) == (None, None)


def test_a_code_is_good_for_one_nonce(accounts: AccountStore) -> None:
    accounts.add_worker_code("c", WORKER)
    accounts.redeem_code("c", nonce="n", token_hash="t")
    assert accounts.redeem_code("c", nonce="other", token_hash="t2") is None
    assert accounts.worker_of_token("t2") is None


def test_the_same_nonce_again_replaces_the_token(accounts: AccountStore) -> None:
    accounts.add_worker_code("c", WORKER)
    accounts.redeem_code("c", nonce="n", token_hash="t")
    assert accounts.redeem_code("c", nonce="n", token_hash="t2") == WORKER
    assert (accounts.worker_of_token("t"), accounts.worker_of_token("t2")) == (None, WORKER)


def test_a_code_made_known_again_stays_bound_to_its_nonce(accounts: AccountStore) -> None:
    accounts.add_worker_code("c", WORKER)
    accounts.redeem_code("c", nonce="n", token_hash="t")
    accounts.add_worker_code("c", WORKER)
    assert accounts.redeem_code("c", nonce="other", token_hash="t2") is None


def test_sixteen_nonces_at_once_give_one_token(accounts: AccountStore) -> None:
    accounts.add_worker_code("c", WORKER)
    given = at_once(16, lambda n: accounts.redeem_code("c", nonce=f"n-{n}", token_hash=f"t-{n}"))
    valid = [n for n in range(16) if accounts.worker_of_token(f"t-{n}") is not None]
    assert valid == [n for n, worker in enumerate(given) if worker == WORKER]
    assert len(valid) == 1


def test_revoking_a_job_ends_its_tokens_and_codes(accounts: AccountStore) -> None:
    accounts.add_worker_code("used", WORKER)
    accounts.add_worker_code("unused", WORKER)
    accounts.redeem_code("used", nonce="n", token_hash="t")
    accounts.revoke_workers("job-1")
    assert accounts.worker_of_token("t") is None
    assert accounts.redeem_code("used", nonce="n", token_hash="t2") is None
    assert accounts.redeem_code("unused", nonce="n", token_hash="t3") is None


def test_revoking_leaves_other_jobs_alone(accounts: AccountStore) -> None:
    accounts.add_worker_code("c", WORKER)
    accounts.redeem_code("c", nonce="n", token_hash="t")
    accounts.revoke_workers("job-2")
    assert accounts.worker_of_token("t") == WORKER
