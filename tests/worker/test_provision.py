"""Startup kits of one job."""

import json
import socket
import zipfile
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID
from tutti_worker.provision import aim_client, free_port, main

SITES = ["site-1", "site-2", "site-3"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("work")
    assert main([str(work), "127.0.0.1", "4321", str(work / "job"), str(work / "kit"), *SITES]) == 0
    return work


def kit_of(work: Path, site: str) -> dict[str, bytes]:
    with zipfile.ZipFile(work / "kits" / f"{site}.zip") as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def test_every_site_has_a_kit_with_a_certificate_of_its_own(made: Path) -> None:
    for site in SITES:
        certificate = x509.load_pem_x509_certificate(kit_of(made, site)["startup/client.crt"])
        assert certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == site
        assert kit_of(made, site)["startup/rootCA.pem"] == (made / "kit/startup/rootCA.pem").read_bytes()


def test_no_key_of_the_authority_and_no_admin_is_left(made: Path) -> None:
    names = [path.name for path in made.rglob("*") if path.is_file()]
    assert "cert.json" not in names
    assert not [name for name in names if "admin" in name.lower()]


def test_two_jobs_share_no_authority(made: Path, tmp_path: Path) -> None:
    main([str(tmp_path), "127.0.0.1", "4322", str(tmp_path / "job"), str(tmp_path / "kit"), "site-1"])
    assert (tmp_path / "kit/startup/rootCA.pem").read_bytes() != (made / "kit/startup/rootCA.pem").read_bytes()


def test_kits_speak_mtls_and_take_the_unsigned_job(made: Path) -> None:
    client = json.loads(kit_of(made, "site-1")["startup/fed_client.json"])
    server = json.loads((made / "kit/startup/fed_server.json").read_text())
    assert (client["client"]["connection_security"], server["servers"][0]["connection_security"]) == ("mtls", "mtls")
    assert (client["require_signed_jobs"], server["require_signed_jobs"]) == (False, False)


def test_the_server_keeps_its_stores_in_the_jobs_own_folder(made: Path) -> None:
    text = (made / "kit/local/resources.json").read_text()
    components = {part["id"]: part for part in json.loads(text)["components"]}
    assert "jobs-storage" not in text
    assert "snapshot-storage" not in text
    assert components["job_manager"]["args"]["uri_root"] == str(made / "store" / "jobs")
    assert components["auto_submit"]["args"]["sites"] == SITES


def test_a_client_can_be_aimed_at_another_address(made: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(made / "kits/site-1.zip") as packed:
        packed.extractall(tmp_path)
    aim_client(tmp_path, "10.0.0.7:8002")
    settings = json.loads((tmp_path / "startup/fed_client.json").read_text())
    assert settings["servers"][0]["service"]["target"] == "10.0.0.7:8002"


def test_a_free_port_can_be_bound() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", free_port("127.0.0.1")))
