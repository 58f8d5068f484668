"""Builds your model on the server, gives its weights to round 0, and saves the global model after every round.

It knows NVFLARE and PyTorch and nothing else, so a federation made by hand can use it as it is.
"""

import importlib
import io
import json
import math
import os
import re
import shutil
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import torch
from nvflare.apis.dxo import MetaKey, from_shareable
from nvflare.apis.fl_context import FLContext
from nvflare.app_common.abstract.model import ModelLearnable, ModelLearnableKey, make_model_learnable
from nvflare.app_common.abstract.model_persistor import ModelPersistor
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.app_event_type import AppEventType
from nvflare.app_opt.pt.decomposers import TensorDecomposer
from nvflare.fuel.utils import fobs
from torch.nn.parameter import is_lazy

SCRIPTS = Path(__file__).resolve().parent
IMPORTER = str(importlib.__file__)
LARGE = 100_000_000
"""Bytes; a larger model is better exchanged as tensors."""
VALIDATED = "tutti_validated"
"""The event, and the context property, that bring what the sites measured of the round's global model."""


class BuildError(Exception):
    """The first global model cannot be made; the code says why."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = code


class CustomPersistor(ModelPersistor):  # type: ignore[misc]
    """Loads the model once and saves each round's as a bare state dict, whole or not at all.

    ``exchange`` is ``numpy``, ``tensors`` (better above 100 MB) or ``auto``, which decides by the model's size; the sites
    answer in kind. With ``best_metric``, the name of a number your functions return, the best round's model is kept as
    ``BEST_MODEL.pt``.
    """

    def __init__(
        self,
        model: Any = None,
        source_ckpt_file_full_name: str | None = None,
        *,
        allow_empty_global_weights: bool = False,
        exchange: str = "numpy",
        best_metric: str | None = None,
        best_mode: str = "max",
        filter_id: str | None = None,
    ) -> None:
        super().__init__(filter_id=filter_id)
        if exchange not in ("numpy", "tensors", "auto") or best_mode not in ("min", "max"):
            raise ValueError("exchange is 'numpy', 'tensors' or 'auto', best_mode is 'min' or 'max'")
        self.model = model
        self.source_ckpt_file_full_name = source_ckpt_file_full_name
        self.allow_empty_global_weights = allow_empty_global_weights
        self.exchange = exchange
        self._best = BestRound(best_metric, best_mode)
        self._form = Form({})
        # Unregistered, NVFLARE would deliver every tensor empty and say nothing.
        fobs.register(TensorDecomposer)

    def load_model(self, fl_ctx: FLContext) -> ModelLearnable:
        """The weights of round 0: the checkpoint's, else the model's own. A failure ends the job with its cause."""
        try:
            state = self._first_state(fl_ctx)
            self._form = Form(state)
            large = sum(value.nbytes for value in state.values() if isinstance(value, torch.Tensor)) > LARGE
            as_tensors = self.exchange == "tensors" or (self.exchange == "auto" and large)
            # A tensor of this type NVFLARE could not send; an array it can.
            as_tensors = as_tensors and not any(getattr(value, "dtype", None) == torch.complex128 for value in state.values())
            return make_model_learnable(self._form.outgoing(state, as_tensors), self._form.meta())
        except Exception as error:  # noqa: BLE001 - the model's class is user code and may raise anything
            cause = cause_of(error)
            if cause["code"] == "checkpoint_failed":
                cause["file"] = f"model/{Path(str(self.source_ckpt_file_full_name)).name}"
            self.log_error(fl_ctx, "\n".join(cause["evidence"]))
            self.system_panic(f"{cause['sentence']}\n{json.dumps(cause)}", fl_ctx)
            return make_model_learnable({}, {})

    def save_model(self, model: ModelLearnable, fl_ctx: FLContext) -> None:
        """Save the round's model as ``rounds/round_<n>.pt`` and ``GLOBAL_MODEL.pt``."""
        self.model = None if isinstance(self.model, torch.nn.Module) else self.model
        round_ = int(fl_ctx.get_prop(AppConstants.CURRENT_ROUND) or 0)
        folder = self._folder(fl_ctx)
        saved = folder / "rounds" / f"round_{round_}.pt"
        write(self._form.restored(model[ModelLearnableKey.WEIGHTS]), saved)
        publish(saved, folder / "GLOBAL_MODEL.pt")
        if self._best.trained():
            publish(saved, folder / "BEST_MODEL.pt")

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Follow the metric that decides which round was best."""
        super().handle_event(event_type, fl_ctx)
        if event_type == AppEventType.ROUND_STARTED:
            self._best.start()
        elif event_type == AppEventType.AFTER_CONTRIBUTION_ACCEPT and fl_ctx.get_prop(AppConstants.AGGREGATION_ACCEPTED):
            meta = from_shareable(fl_ctx.get_prop(AppConstants.TRAINING_RESULT)).meta or {}
            self._best.add(meta.get("tutti_metrics") or {}, meta.get(MetaKey.NUM_STEPS_CURRENT_ROUND, 1))
        elif event_type == VALIDATED and self._best.validated(fl_ctx.get_prop(VALIDATED) or {}):
            folder = self._folder(fl_ctx)
            publish(folder / "rounds" / f"round_{fl_ctx.get_prop(AppConstants.CURRENT_ROUND)}.pt", folder / "BEST_MODEL.pt")

    def _first_state(self, fl_ctx: FLContext) -> dict[str, Any]:
        empty = self.allow_empty_global_weights or bool(fl_ctx.get_prop("allow_empty_global_weights"))
        if empty and not self.source_ckpt_file_full_name:
            return {}
        model = built(self.model)
        if self.source_ckpt_file_full_name:
            # A relative path lies beside the scripts, as for NVFLARE's own persistor, so that a job can bring its checkpoint.
            load_checkpoint(model, SCRIPTS / self.source_ckpt_file_full_name)
        return dict(model.state_dict())

    @staticmethod
    def _folder(fl_ctx: FLContext) -> Path:
        chosen = os.environ.get("TUTTI_MODEL_DIR")
        return Path(chosen or fl_ctx.get_engine().get_workspace().get_run_dir(fl_ctx.get_job_id()))


class Form:
    """What weights lose on their way through the federation: dtypes, ties, and entries that are no tensors."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        tensors = {name: value for name, value in state.items() if not is_extra(name, value)}
        for name, tensor in tensors.items():
            check_dense(name, tensor)
        self._dtypes = {name: tensor.dtype for name, tensor in tensors.items()}
        self._extras = {name: value for name, value in state.items() if name not in tensors}
        for name, value in self._extras.items():
            check_travels(name, value)
        self._tied_to: dict[str, str] = {}
        seen: dict[tuple[Any, ...], str] = {}
        for name, tensor in tensors.items():
            place = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
            if tensor.numel():
                self._tied_to[name] = seen.setdefault(place, name)

    def outgoing(self, state: Mapping[str, Any], as_tensors: bool) -> dict[str, Any]:
        """The tensors as they travel: on the CPU, contiguous, half precision widened to float32."""
        weights: dict[str, Any] = {}
        for name, dtype in self._dtypes.items():
            tensor = state[name].detach().cpu().contiguous()
            tensor = tensor.float() if is_half(dtype) else tensor
            weights[name] = tensor if as_tensors else tensor.numpy()
        return weights

    def meta(self) -> dict[str, Any]:
        """What travels beside the weights, so that a site can rebuild the whole state dict."""
        halves = {name: str(dtype).removeprefix("torch.") for name, dtype in self._dtypes.items() if is_half(dtype)}
        return {key: value for key, value in (("tutti_dtypes", halves), ("tutti_extras", self._extras)) if value}

    def restored(self, weights: Mapping[str, Any]) -> dict[str, Any]:
        """A state dict that the model's ``load_state_dict(strict=True)`` accepts."""
        state: dict[str, Any] = {}
        for name, value in weights.items():
            tensor = value.detach().cpu() if isinstance(value, torch.Tensor) else torch.from_numpy(np.asarray(value))
            wanted = self._dtypes.get(name, tensor.dtype)
            if tensor.is_floating_point() and not wanted.is_floating_point:
                tensor = tensor.round()
            partner = state.get(self._tied_to.get(name, name))
            tensor = tensor.to(wanted)
            state[name] = partner if partner is not None and torch.equal(partner, tensor) else tensor
        return state | self._extras


def is_extra(name: str, value: Any) -> bool:
    """True for what is never averaged: a module's extra state, also when it is a tensor, and what is none at all."""
    return name.rpartition(".")[2] == "_extra_state" or not isinstance(value, torch.Tensor)


def check_dense(name: str, tensor: torch.Tensor) -> None:
    """Raise BuildError for a tensor of the model that cannot be averaged, or from which no training can start."""
    problem = None
    if is_lazy(tensor):
        problem = "has no shape yet; give the lazy layer its sizes"
    elif tensor.layout != torch.strided or tensor.is_quantized or tensor.is_nested or tensor.is_meta:
        words = [str(word).removeprefix("torch.") for word in (tensor.layout, tensor.dtype)]
        kind = f"{' '.join(words)} tensor on {tensor.device.type}" + (", nested" if tensor.is_nested else "")
        problem = f"is a {kind}; only dense tensors can be averaged"
    elif (tensor.is_floating_point() or tensor.is_complex()) and bool(torch.isnan(wide(tensor)).any()):
        problem = "holds NaN before any training; initialise it"
    if problem:
        raise BuildError("model_build_failed", f"the model's {name} {problem}")


def check_travels(name: str, value: Any) -> None:
    """Raise BuildError for extra state that no message and no model file could carry."""
    try:
        fobs.loads(fobs.dumps({name: value}))
        file = io.BytesIO()
        torch.save({name: value}, file)
        file.seek(0)
        torch.load(file, weights_only=True)
    except Exception as error:
        raise BuildError(
            "model_build_failed",
            f"the model's {name} is a {type(value).__name__} that cannot travel: {described(error).splitlines()[0][:200]}; "
            "get_extra_state may return tensors, numbers, texts, None, and lists and dicts of them",
        ) from error


class BestRound:
    """Decides whether a round's model is the best so far; what sites measured of the global model beats training's."""

    def __init__(self, metric: str | None, mode: str) -> None:
        self._metric, self._sign = metric, 1.0 if mode == "max" else -1.0
        self._best: tuple[bool, float] | None = None
        self._sum = self._weight = 0.0

    def start(self) -> None:
        """Forget the round before."""
        self._sum = self._weight = 0.0

    def add(self, metrics: Mapping[str, Any], samples: float) -> None:
        """Count one site's training metrics, weighted by its samples."""
        value = metrics.get(self._metric or "")
        if value is not None and samples:
            self._sum, self._weight = self._sum + value * samples, self._weight + samples

    def trained(self) -> bool:
        """True when the round's mean training metric is the best so far."""
        return bool(self._weight) and self._is_best(self._sum / self._weight, measured=False)

    def validated(self, sites: Mapping[str, Mapping[str, float | None]]) -> bool:
        """True when the mean of what the sites measured of the round's global model is the best so far."""
        values = [value for numbers in sites.values() if (value := numbers.get(self._metric or "")) is not None]
        return bool(values) and self._is_best(sum(values) / len(values), measured=True)

    def _is_best(self, value: float, *, measured: bool) -> bool:
        score = (measured, self._sign * value)
        if not math.isfinite(value) or (self._best is not None and score <= self._best):
            return False
        self._best = score
        return True


def built(model: Any) -> torch.nn.Module:
    """The model itself, or one built from ``{"path": "module.Class", "args": {…}}``."""
    if isinstance(model, Mapping):
        path, args = str(model.get("path") or ""), dict(model.get("args") or {})
        model = called(class_at(path), path, args)
    if isinstance(model, torch.nn.Module):
        return model
    raise BuildError(
        "model_build_failed",
        f"the persistor's model is a {type(model).__name__}; a torch.nn.Module, or "
        'its {"path": "module.Class", "args": {…}}, is wanted',
    )


def class_at(path: str) -> Any:
    """What an import path like ``model_def.FLModelWrapper`` names."""
    module_name, _, name = path.rpartition(".")
    try:
        module = importlib.import_module(module_name or path)
    except BaseException as error:
        file = f"scripts/{(module_name or path).replace('.', '/')}.py"
        raise BuildError("import_failed", f"{file} could not be imported: {described(error)}") from error
    if not hasattr(module, name):
        raise BuildError("name_missing", f"{module_name} has no class {name}")
    return getattr(module, name)


def called(factory: Any, path: str, args: dict[str, Any]) -> Any:
    """The model that the class makes of the server config's arguments."""
    try:
        return factory(**args)
    except BaseException as error:
        given = ", ".join(args) or "none"
        raise BuildError(
            "model_build_failed", f"{path} could not be built with the arguments {given}: {described(error)}"
        ) from error


def load_checkpoint(model: torch.nn.Module, path: Path) -> None:
    """Load a checkpoint into the model; every name and shape must fit, wrappers and prefixes are seen through."""
    state = dict(model.state_dict())
    own = {name: value for name, value in state.items() if not is_extra(name, value)}
    found = without_prefix(unwrapped(read_checkpoint(path)), set(own))
    tensors = {name: value for name, value in found.items() if not is_extra(name, value)}
    missing, unexpected = sorted(own.keys() - tensors.keys()), sorted(tensors.keys() - own.keys())
    shapes = [
        f"{name} is {tuple(tensors[name].shape)}, the model's is {tuple(own[name].shape)}"
        for name in own.keys() & tensors.keys()
        if tensors[name].shape != own[name].shape
    ]
    fit = len(own) - len(missing) - len(shapes)
    if missing or unexpected or shapes:
        details = [
            f"{len(names)} {word} ({', '.join(names[:3])})"
            for word, names in (("missing", missing), ("unexpected", unexpected), ("of another shape", sorted(shapes)))
            if names
        ]
        raise BuildError(
            "checkpoint_failed", f"{path.name} does not fit the model: {fit} of {len(own)} tensors match, " + ", ".join(details)
        )
    for name, value in own.items():
        bad = not_finite(tensors[name].to(value.dtype), value)
        if bad:
            raise BuildError(
                "checkpoint_failed",
                f"{path.name}: {name} has {bad} of {tensors[name].numel()} values that are not finite (NaN or infinity)",
            )
    extras = {name: value for name, value in found.items() if name in state and name not in own}
    model.load_state_dict(tensors | extras, strict=False)


def not_finite(tensor: torch.Tensor, own: torch.Tensor) -> int:
    """How many of the values are NaN or infinite where the model's own is not: a mask may hold infinity."""
    return tensor.numel() - int((torch.isfinite(wide(tensor)) | (tensor == own)).sum())


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, or a wider one of the same values where the type is too small for some functions."""
    return tensor.float() if is_half(tensor.dtype) else tensor


def read_checkpoint(path: Path) -> Any:
    """What a checkpoint holds, read without running any code in it."""
    if not path.is_file():
        raise BuildError(
            "checkpoint_failed",
            f"there is no checkpoint {path.name}; put it into model/ or remove "
            "source_ckpt_file_full_name from config_fed_server.json",
        )
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        pickled = re.search(r"GLOBAL ([\w.]+)", str(error))
        why = f"it holds the Python object {pickled[1]}" if pickled else described(error).splitlines()[0]
        raise BuildError(
            "checkpoint_failed",
            f"{path.name} cannot be read as tensors alone: {why}; save it with torch.save(model.state_dict(), '{path.name}')",
        ) from error


def unwrapped(content: Any) -> Mapping[str, Any]:
    """The state dict in a checkpoint, also when it lies under one of the usual names."""
    for key in ("state_dict", "model_state_dict", "model"):
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            return unwrapped(content[key])
    if isinstance(content, Mapping):
        return content
    raise BuildError("checkpoint_failed", f"the checkpoint holds a {type(content).__name__}; a state dict is wanted")


def without_prefix(weights: Mapping[str, Any], wanted: set[str]) -> dict[str, Any]:
    """The weights without the prefix of DataParallel or torch.compile, if the names then are the wanted ones."""
    named = dict(weights)
    while named and not wanted <= set(named):
        prefix = next((p for p in ("module.", "_orig_mod.") if all(name.startswith(p) for name in named)), None)
        if prefix is None:
            return dict(weights)
        named = {name.removeprefix(prefix): value for name, value in named.items()}
    return named


def write(state: dict[str, Any], path: Path) -> None:
    """Write the file so that no reader ever sees a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    torch.save(state, part)
    part.replace(path)


def publish(saved: Path, path: Path) -> None:
    """Give a saved model a second name; as with ``write``, no reader sees a part of it."""
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    try:
        part.hardlink_to(saved)
    except OSError:
        shutil.copyfile(saved, part)
    part.replace(path)


def is_half(dtype: torch.dtype) -> bool:
    """True for the float types that numpy or an average over many sites cannot carry."""
    return dtype.is_floating_point and dtype.itemsize < 4


def cause_of(error: BaseException) -> dict[str, Any]:
    """What went wrong, the place in the user's scripts, and the last 40 lines that show it."""
    origin = error.__cause__ if isinstance(error, BuildError) and error.__cause__ else error
    file, line = place_of(origin)
    rows = "".join(traceback.format_exception(type(origin), origin, user_frames(origin))).splitlines()
    code = error.reason if isinstance(error, BuildError) else "model_build_failed"
    sentence = str(error) if isinstance(error, BuildError) else f"the model raised {described(error)}"
    return {
        "code": code,
        "sentence": sentence,
        "site": "server",
        "file": file,
        "line": line,
        "evidence": [row.replace(f"{SCRIPTS}{os.sep}", "scripts/")[:500] for row in rows[-40:]],
    }


def user_frames(error: BaseException) -> TracebackType | None:
    """The traceback without the frames by which this file and the import system came to the user's code."""
    frames = error.__traceback__
    while frames and frames.tb_next and frames.tb_frame.f_code.co_filename.startswith((__file__, "<frozen", IMPORTER)):
        frames = frames.tb_next
    return frames


def place_of(error: BaseException) -> tuple[str | None, int | None]:
    """File (relative to the workspace) and line of the innermost frame in the user's own scripts."""
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        places.append((error.filename, error.lineno))
    for filename, line in reversed(places):
        path = Path(filename).resolve()
        if path.is_relative_to(SCRIPTS) and path != Path(__file__).resolve():
            return f"scripts/{path.relative_to(SCRIPTS).as_posix()}", line
    return None, None


def described(error: BaseException) -> str:
    """Type and message of an exception in at most 500 characters."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the message is user code as well
        text = "(its message could not be made)"
    return f"{type(error).__name__}: {text}".removesuffix(": ")[:500]
