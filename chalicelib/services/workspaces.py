"""Workspaces: create, build again, list, show, read and edit a file."""

import hashlib
import json
from collections.abc import Mapping

from chalicelib.contracts.account import Principal
from chalicelib.contracts.wizard import WizardForm
from chalicelib.contracts.workspace import (
    Built,
    FileEdit,
    FileText,
    GeneratedFile,
    Preview,
    PreviewedFile,
    Workspace,
    Workspaces,
    WorkspaceSummary,
)
from chalicelib.domain import object_keys
from chalicelib.domain.errors import (
    InvalidRequest,
    NameTaken,
    ObjectNotFound,
    PreconditionFailed,
    TooLarge,
    WorkspaceNotFound,
)
from chalicelib.domain.json_text import read_json
from chalicelib.domain.naming import clean_name, free_name
from chalicelib.domain.uploads import check_key
from chalicelib.domain.workspaces import cards, render
from chalicelib.job_scripts.sources import sources
from chalicelib.ports import AccountStore, JobStore, ObjectStore, ReportStore
from chalicelib.services.account import bucket_name
from chalicelib.services.listing import inputs
from chalicelib.settings import Settings

LARGEST_TEXT = 1_000_000
EDITABLE = ("configs/", "requirements/")
PAGE = 50


def create_workspace(
    user: Principal, form: WizardForm, *, accounts: AccountStore, objects: ObjectStore, settings: Settings
) -> Built:
    """Write a new workspace. A folder that exists is never touched: NameTaken with a free name."""
    bucket = bucket_name(user, accounts=accounts)
    name = cleaned(form)
    texts = render(form, sources())
    if _taken(bucket, name, objects=objects):
        raise _name_taken(bucket, name, objects=objects)
    try:
        return _write(user, bucket, name, texts, dict.fromkeys(texts), objects=objects, settings=settings)
    except PreconditionFailed:
        raise _name_taken(bucket, name, objects=objects) from None  # made by somebody else at the same moment


def preview(form: WizardForm) -> Preview:
    """The files the form would give, byte for byte as building writes them; nothing is read or written."""
    files = tuple(PreviewedFile(path=path, text=text) for path, text in render(form, sources()).items())
    return Preview(name=cleaned(form), files=files)


def _name_taken(bucket: str, name: str, *, objects: ObjectStore) -> NameTaken:
    suggestion = free_name(name, _Taken(bucket, objects))
    hint = f"Open the workspace, or use the name {suggestion}."
    return NameTaken(f"a workspace {name!r} exists already", hint=hint, fields={"suggestion": suggestion})


def cleaned(form: WizardForm) -> str:
    """The form's name by the platform's rule; a name without a letter or digit: InvalidRequest."""
    name = clean_name(form.name.name)
    if name is None:
        raise InvalidRequest(
            f"the name {form.name.name!r} has no letter or digit", fields={"name": "use at least one of a-z or 0-9"}
        )
    return name


def _taken(bucket: str, name: str, *, objects: ObjectStore) -> bool:
    return bool(objects.list(bucket, object_keys.workspace(name), limit=1).objects)


class _Taken:
    """The names in use, asked one by one."""

    def __init__(self, bucket: str, objects: ObjectStore) -> None:
        self._bucket, self._objects = bucket, objects

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and _taken(self._bucket, name, objects=self._objects)


def rebuild_workspace(
    user: Principal,
    name: str,
    form: WizardForm,
    if_match: str,
    *,
    overwrite: bool,
    accounts: AccountStore,
    objects: ObjectStore,
    settings: Settings,
) -> Built:
    """Write the generated files anew. Those edited by hand are kept and named, unless ``overwrite``; a state other than
    ``if_match``: PreconditionFailed."""
    bucket = bucket_name(user, accounts=accounts)
    before = show_built(user, name, accounts=accounts, objects=objects, settings=settings)
    if before.etag != if_match:
        raise PreconditionFailed(f"the generated files of {name!r} changed since you loaded them")
    kept = {file.path for file in before.files if file.edited and not overwrite}
    texts = {path: text for path, text in render(form, sources()).items() if path not in kept}
    seen = {file.path: file.etag or None for file in before.files}
    return _write(user, bucket, name, texts, seen, objects=objects, settings=settings)


def _write(
    user: Principal,
    bucket: str,
    name: str,
    texts: dict[str, str],
    seen: Mapping[str, str | None],
    *,
    objects: ObjectStore,
    settings: Settings,
) -> Built:
    """Write each file over the state it was seen in (None: absent); another state: PreconditionFailed."""
    prefix = object_keys.workspace(name)
    record, written = _record(user, name, objects=objects, settings=settings), dict[str, str]()
    try:
        for path, text in texts.items():
            etag = seen.get(path)
            info = objects.put(
                bucket, prefix + path, text.encode(), content_type=_content_type(path), if_match=etag, if_absent=etag is None
            )
            written[path] = info.etag
    finally:
        if written:  # also when a later file was refused: what is written is ours, not an edit by hand
            key = object_keys.generated_record(user.user, name)
            text = json.dumps(record | written)
            objects.put(settings.platform_bucket, key, text.encode(), content_type="application/json")
    return _built(name, record | written, bucket, objects=objects)


def _record(user: Principal, name: str, *, objects: ObjectStore, settings: Settings) -> dict[str, str]:
    """path → ETag of every file the platform generated in this workspace."""
    try:
        raw = objects.read(settings.platform_bucket, object_keys.generated_record(user.user, name))
    except ObjectNotFound:
        return {}
    return {str(path): str(etag) for path, etag in json.loads(raw).items()}


def show_built(user: Principal, name: str, *, accounts: AccountStore, objects: ObjectStore, settings: Settings) -> Built:
    """The generated files as they are now, each with whether it was edited by hand; not made by the wizard: NotFound."""
    check_name(name)
    bucket = bucket_name(user, accounts=accounts)
    record = _record(user, name, objects=objects, settings=settings)
    if not record:
        raise WorkspaceNotFound(f"{name!r} was not made by the wizard, so there is nothing to build again")
    return _built(name, record, bucket, objects=objects)


def _built(name: str, record: dict[str, str], bucket: str, *, objects: ObjectStore) -> Built:
    prefix = object_keys.workspace(name)
    there = {item.key.removeprefix(prefix): item.etag for item in inputs(bucket, prefix, objects=objects)}
    files = tuple(
        GeneratedFile(path=path, etag=there.get(path, ""), edited=there.get(path) != etag)
        for path, etag in sorted(record.items())
    )
    state = json.dumps([(file.path, file.etag) for file in files])
    return Built(name=name, prefix=prefix, files=files, etag=hashlib.sha256(state.encode()).hexdigest()[:32])


def check_name(name: str) -> None:
    """A workspace's name as it may stand in a route: one segment that any S3 tool could have made."""
    if "/" in name or len(name) > 255:
        raise WorkspaceNotFound(f"there is no workspace {name[:80]!r}")
    try:
        check_key(name)
    except InvalidRequest:
        raise WorkspaceNotFound(f"there is no workspace {name[:80]!r}") from None


def require_workspace(user: Principal, name: str, *, accounts: AccountStore, objects: ObjectStore) -> str:
    """The bucket, when the folder holds anything; else WorkspaceNotFound."""
    check_name(name)
    bucket = bucket_name(user, accounts=accounts)
    if not _taken(bucket, name, objects=objects):
        raise WorkspaceNotFound(f"there is no workspace {name!r} in your bucket")
    return bucket


def list_workspaces(user: Principal, *, cursor: str | None, accounts: AccountStore, objects: ObjectStore) -> Workspaces:
    """One page of the folders under ``jobs/``, whoever made them."""
    bucket = bucket_name(user, accounts=accounts)
    page = objects.list(bucket, object_keys.JOBS, cursor=cursor, delimiter="/", limit=PAGE)
    rows = tuple(_summary(bucket, prefix, objects=objects) for prefix in page.prefixes)
    return Workspaces(workspaces=rows, cursor=page.cursor)


def _summary(bucket: str, prefix: str, *, objects: ObjectStore) -> WorkspaceSummary:
    found = tuple(inputs(bucket, prefix, objects=objects))
    shown = cards(found, prefix)
    shards = next(card.count for card in shown if card.folder == "shards")
    missing = tuple(card.folder for card in shown if card.required and card.count == 0)
    modified = max((item.modified for item in found), default=None)
    name = prefix.removeprefix(object_keys.JOBS).rstrip("/")
    return WorkspaceSummary(name=name, prefix=prefix, shards=shards, missing=missing, modified=modified)


def show_workspace(
    user: Principal,
    name: str,
    *,
    accounts: AccountStore,
    objects: ObjectStore,
    reports: ReportStore,
    jobs: JobStore,
) -> Workspace:
    """The five cards from one live listing, and the newest report. An empty folder: WorkspaceNotFound."""
    check_name(name)
    bucket, prefix = bucket_name(user, accounts=accounts), object_keys.workspace(name)
    found = tuple(inputs(bucket, prefix, objects=objects))
    if not found:
        require_workspace(user, name, accounts=accounts, objects=objects)
    report, taken = reports.newest(user.user, name)
    active = jobs.active_in(user.user, name)
    return Workspace(
        name=name,
        prefix=prefix,
        cards=cards(found, prefix),
        report=report,
        checking=taken > (report.counter if report else 0),
        active_job=active.id if active else None,
    )


def read_file(user: Principal, name: str, path: str, *, accounts: AccountStore, objects: ObjectStore) -> FileText:
    """A text file of a workspace, up to 1 MB, with the ETag to save it against."""
    check_name(name)
    check_key(path)
    bucket = bucket_name(user, accounts=accounts)
    key = object_keys.workspace(name) + path
    info = objects.head(bucket, key)
    if info.size > LARGEST_TEXT:
        raise TooLarge(f"{path} has {info.size} bytes; only texts up to 1 MB are shown", hint="Download it instead.")
    try:
        text = objects.read(bucket, key, version=info.version).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{path} is not UTF-8 text (byte {error.start})", hint="Download it instead.") from None
    return FileText(path=path, text=text, etag=info.etag)


def save_file(user: Principal, name: str, edit: FileEdit, *, accounts: AccountStore, objects: ObjectStore) -> FileText:
    """Save an edited config or requirements file; another ETag than the stored one: PreconditionFailed, and nothing is lost."""
    check_name(name)
    check_key(edit.path)
    if not edit.path.startswith(EDITABLE):
        raise InvalidRequest(f"{edit.path} cannot be edited here", fields={"path": "a file of configs/ or requirements/"})
    if edit.path.endswith(".json"):
        read_json(edit.text, path=edit.path)
    bucket = bucket_name(user, accounts=accounts)
    key = object_keys.workspace(name) + edit.path
    info = objects.put(bucket, key, edit.text.encode(), content_type=_content_type(edit.path), if_match=edit.etag)
    return FileText(path=edit.path, text=edit.text, etag=info.etag)


def _content_type(path: str) -> str:
    return {"json": "application/json", "py": "text/x-python"}.get(path.rsplit(".", 1)[-1], "text/plain; charset=utf-8")
