"""The folder model/: at most one checkpoint to start from."""

from collections.abc import Iterator

from chalicelib.contracts.report import Finding
from chalicelib.contracts.worker import MODEL_LIMIT
from chalicelib.domain.findings import error, warning
from chalicelib.domain.snapshot import WorkspaceSnapshot


def there_is_at_most_one_checkpoint(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """With two .pt files nobody could say which one training starts from."""
    found = [ws.path(item) for item in ws.checkpoints]
    if len(found) > 1:
        message = f"model/ holds {len(found)} .pt files: {', '.join(found[:5])}"
        yield error("many_checkpoints", message, path="model/", hint="Keep the one to start from and delete the others.")


def checkpoint_has_bytes(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """A .pt of zero bytes is an upload that went wrong."""
    for item in ws.checkpoints:
        if item.size == 0:
            path = ws.path(item)
            yield error("checkpoint_empty", f"{path} has zero bytes", path=path, hint="Upload it again, or delete it.")


def checkpoint_can_be_carried(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """A .pt holds its tensors unpacked, so its size is theirs; beyond the limit no round could carry the model."""
    for item in ws.checkpoints:
        if item.size > MODEL_LIMIT:
            path = ws.path(item)
            message = f"{path} has {item.size / 2**30:.2f} GiB; a model may have {MODEL_LIMIT / 2**30:g} GiB at most"
            hint = "Save the weights alone, without the optimizer: torch.save(model.state_dict(), …); or take a smaller model."
            yield error("checkpoint_too_large", message, path=path, hint=hint)


def other_model_files_are_unused(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """Only a .pt is taken as the start; a user who uploads anything else should know that it is ignored."""
    for item in ws.folder("model"):
        if not item.key.endswith(".pt"):
            path = ws.path(item)
            hint = "Save the weights as one .pt with torch.save(model.state_dict(), …)."
            yield warning("model_file_unused", f"{path} is not a .pt and will not be used", path=path, hint=hint)
