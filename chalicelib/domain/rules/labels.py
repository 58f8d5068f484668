"""The labels in the shards against the number of classes in the configs."""

from collections.abc import Iterator, Mapping

from chalicelib.contracts.report import Finding
from chalicelib.domain.archives import ArchiveDirectory
from chalicelib.domain.configs import executor_of, model_of, parameters_of, read_client, read_server
from chalicelib.domain.errors import BadConfig, BadJson
from chalicelib.domain.findings import warning
from chalicelib.domain.labels import LabelCount
from chalicelib.domain.snapshot import WorkspaceSnapshot

_NAME = "num_classes"
_IGNORED = frozenset({-100, 255})
"""What loss functions are told to pass over, by custom."""
_MOST_SHOWN = 5
_HINT = "Raise num_classes, or number the labels from 0; one that is out of range ends the training on that worker."


def labels_are_below_the_number_of_classes(ws: WorkspaceSnapshot) -> Iterator[Finding]:
    """With num_classes = n a label is one of 0 … n-1; any other fails on the worker, on a GPU at a line that says nothing."""
    classes = _classes(ws)
    if not classes:
        return
    for path, archive in ws.archives.items():
        for found in archive.labels if isinstance(archive, ArchiveDirectory) else ():
            outside = {label: n for label, n in sorted(found.counts.items()) if not 0 <= label < classes}
            outside = {label: n for label, n in outside.items() if label not in _IGNORED}
            if outside:
                yield _finding(path, found, outside, classes)


def _finding(path: str, found: LabelCount, outside: Mapping[int, int], classes: int) -> Finding:
    shown = ", ".join(f"label {label} ({n} times)" for label, n in list(outside.items())[:_MOST_SHOWN])
    more = f" and {len(outside) - _MOST_SHOWN} more" if len(outside) > _MOST_SHOWN else ""
    message = f"{path} holds {shown}{more} in {found.entry}; num_classes is {classes}, so labels go from 0 to {classes - 1}"
    return warning("label_out_of_range", message, path=path, entry=found.entry, hint=_HINT)


def _classes(ws: WorkspaceSnapshot) -> int:
    """num_classes as the training is told it, else as the model is; 0 when nothing says."""
    try:
        model = model_of(read_server(ws.texts))
        told = (parameters_of(executor_of(read_client(ws.texts))), model.value.get("args") if model else None)
    except (BadConfig, BadJson):
        return 0
    for values in told:
        for name, value in values.items() if isinstance(values, Mapping) else ():
            if name.lower() == _NAME and isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return 0
