"""``tutti login`` and ``tutti keys``."""

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from tutti_fl import Client, NotSignedIn
from tutti_fl.credentials import Credentials, CredentialsFile, credentials_file, find_credentials
from tutti_fl.sign_in import sign_in_with_browser

from tests.client.builders import ONE_TIME_CODE, QUICK, TOKEN, FakeTutti, type_command


def stored(home: Path) -> CredentialsFile:
    return credentials_file({"XDG_CONFIG_HOME": str(home / "config")})


def test_the_one_time_code_gives_a_token_without_a_browser(tutti: FakeTutti, tmp_path: Path) -> None:
    typed = type_command("login", tutti.url, "--code", ONE_TIME_CODE, home=tmp_path)
    found = stored(tmp_path).load()
    assert (typed.code, found and (found.url, found.token)) == (0, (tutti.url, TOKEN))


def test_only_the_owner_can_read_the_token(tutti: FakeTutti, tmp_path: Path) -> None:
    type_command("login", tutti.url, "--code", ONE_TIME_CODE, home=tmp_path)
    assert stat.S_IMODE(stored(tmp_path).path.stat().st_mode) == 0o600


def test_a_signed_in_user_needs_no_environment(tutti: FakeTutti, tmp_path: Path) -> None:
    type_command("login", tutti.url, "--code", ONE_TIME_CODE, home=tmp_path)
    assert type_command("keys", home=tmp_path).out == "key-1  made 2026-05-01  used never  laptop\n"


def test_a_wrong_code_is_5_and_stores_nothing(tutti: FakeTutti, tmp_path: Path) -> None:
    typed = type_command("login", tutti.url, "--code", "wrong", home=tmp_path)
    assert (typed.code, stored(tmp_path).load()) == (5, None)


def test_an_api_key_is_read_from_standard_input(tutti: FakeTutti, tmp_path: Path) -> None:
    type_command("login", tutti.url, "--key", home=tmp_path, stdin=f"{TOKEN}\n")
    assert stored(tmp_path).load() == Credentials(tutti.url, TOKEN)


def test_an_api_key_that_does_not_open_anything_is_not_stored(tutti: FakeTutti, tmp_path: Path) -> None:
    typed = type_command("login", tutti.url, "--key", home=tmp_path, stdin="tutti_wrong\n")
    assert (typed.code, stored(tmp_path).load()) == (5, None)


def test_login_without_an_address_is_2(tmp_path: Path) -> None:
    assert type_command("login", home=tmp_path).code == 2


def browse(page: str) -> None:
    """What a person with a browser does."""
    with httpx.Client() as browser:
        browser.post(page, data={"code": ONE_TIME_CODE}, follow_redirects=True).raise_for_status()


def test_the_browser_comes_back_to_this_machine(tutti: FakeTutti) -> None:
    with Client(tutti.url, "", retries=QUICK) as client:
        place = client.account.sign_in()
    assert sign_in_with_browser(tutti.url, place, browse, wait_s=20).token == TOKEN


def test_an_answer_to_another_sign_in_is_refused(tutti: FakeTutti) -> None:
    def browse_with_another_state(page: str) -> None:
        browse(httpx.URL(page).copy_set_param("state", "forged").__str__())

    with Client(tutti.url, "", retries=QUICK) as client:
        place = client.account.sign_in()
    with pytest.raises(NotSignedIn, match="does not belong to this sign-in"):
        sign_in_with_browser(tutti.url, place, browse_with_another_state, wait_s=20)


def test_a_sign_in_that_never_comes_back_is_given_up(tutti: FakeTutti) -> None:
    with Client(tutti.url, "", retries=QUICK) as client:
        place = client.account.sign_in()
    with pytest.raises(NotSignedIn, match="no sign-in came back"):
        sign_in_with_browser(tutti.url, place, lambda _: None, wait_s=0.05)


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    stored(tmp_path).save(Credentials("http://stored", "stored"))
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "TUTTI_URL": "http://given", "TUTTI_TOKEN": "given"}
    assert find_credentials(environ) == Credentials("http://given", "given")


def test_a_stored_token_is_not_sent_to_another_address(tmp_path: Path) -> None:
    stored(tmp_path).save(Credentials("http://stored", "stored"))
    with pytest.raises(NotSignedIn, match="http://other"):
        find_credentials({"XDG_CONFIG_HOME": str(tmp_path / "config"), "TUTTI_URL": "http://other"})


def test_a_sign_in_that_is_over_is_said_so(tmp_path: Path) -> None:
    past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat()
    stored(tmp_path).save(Credentials("http://stored", "old", past))
    with pytest.raises(NotSignedIn, match="is over"):
        find_credentials({"XDG_CONFIG_HOME": str(tmp_path / "config")})


def test_a_new_key_is_the_only_thing_on_standard_output(tutti: FakeTutti, tmp_path: Path) -> None:
    typed = type_command("keys", "create", "--label", "ci", home=tmp_path, TUTTI_URL=tutti.url, TUTTI_TOKEN=TOKEN)
    assert typed.out == "tutti_new\n"


def test_a_key_is_revoked_by_its_id(tutti: FakeTutti, tmp_path: Path) -> None:
    type_command("keys", "revoke", "key-1", home=tmp_path, TUTTI_URL=tutti.url, TUTTI_TOKEN=TOKEN)
    assert len(tutti.asked("DELETE", "/me/keys/key-1")) == 1
