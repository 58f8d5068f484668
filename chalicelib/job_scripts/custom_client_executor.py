"""Runs your training function as one site of a federation. The same file serves every workspace; nobody needs to edit it.

It knows NVFLARE and PyTorch and nothing else, so a federation made by hand can use it as it is. The arguments it does
not know are your hyperparameters: they reach your function in ``payload["env"]``, spelled as given and in upper case.
"""

import gc
import importlib
import inspect
import json
import math
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import torch
from nvflare.apis.dxo import DXO, DataKind, MetaKey, from_shareable
from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_opt.pt.decomposers import TensorDecomposer
from nvflare.fuel.utils import fobs

Journal = Callable[[dict[str, Any]], None]
SCRIPTS = Path(__file__).resolve().parent
IMPORTER = str(importlib.__file__)
NO_MEMORY = re.compile(r"DefaultCPUAllocator: (not enough|can't allocate) memory|std::bad_alloc")
"""How PyTorch says on a CPU that memory is short."""
NOT_METRICS = ("weights", "state_dict", "final_checkpoint", "samples")


class TaskError(Exception):
    """User code broke the contract of its function; the code says which part of it."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = code


class Aborted(BaseException):
    """The job was stopped while user code ran; no ``except Exception`` of the user keeps it alive."""


@dataclass(frozen=True)
class Turn:
    """Where one task of one round runs."""

    site: str
    job: str
    round: int
    rounds: int
    data_root: Path
    out_dir: Path
    cache_dir: Path
    state_dir: Path
    aborted: Callable[[], bool]


class TrainingLog:
    """The ``logger`` of user code: call it with a text or a dict, or use it like a ``logging.Logger``.

    A dict with ``epoch`` or ``step`` and ``of`` or ``total`` is progress and is shown with its other numbers.
    """

    def __init__(self, logger: Any, turn: Turn, journal: Journal) -> None:
        self._logger, self._turn, self._journal = logger, turn, journal
        self._credit, self._last = 20.0, time.monotonic()

    def __call__(self, message: object = "", *args: object, **options: Any) -> None:
        if self._turn.aborted():
            raise Aborted
        if isinstance(message, Mapping):
            self._progress(message)
            message = ", ".join(f"{key}={value}" for key, value in message.items())
            args = ()
        self._logger.info(str(message), *args, **options)

    def info(self, message: object = "", *args: object, **options: Any) -> None:
        """Write a line; the same as calling the logger itself."""
        self(message, *args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._logger, name)

    def _progress(self, record: Mapping[Any, Any]) -> None:
        step = number(record.get("epoch", record.get("step")))
        total = number(record.get("of", record.get("total")))
        if step is None or total is None or not (math.isfinite(step) and math.isfinite(total)):
            return
        if not self._may_write(step >= total):
            return
        values = {str(key): value for key, value in record.items() if key not in ("epoch", "step", "of", "total")}
        self._journal(
            {"type": "progress", "round": self._turn.round, "step": int(step), "of": int(total), "metrics": metrics_of(values)}
        )

    def _may_write(self, last: bool) -> bool:
        # A loop may log each of a million batches: bursts of 20 pass, then five a second and the last one.
        now = time.monotonic()
        self._credit, self._last = min(20.0, self._credit + (now - self._last) * 5), now
        if self._credit < 1 and not last:
            return False
        self._credit = max(0.0, self._credit - 1)
        return True


class GenericClientExecutor(Executor):  # type: ignore[misc]
    """Answers the tasks train, validate and submit_model; whatever user code raises becomes an answer with its cause."""

    def __init__(  # noqa: PLR0917 - the port guide's arguments
        self,
        data_root: str = "/var/tmp/nvflare/data",  # noqa: S108
        adapter_module: str = "model_def",
        train_fn: str = "fl_train_model",
        validate_fn: str = "fl_validate_model",
        submit_fn: str = "fl_submit_model",
        dataset: dict[str, Any] | None = None,
        manifest_file: str | None = "manifest.ndjson",
        cache_dir_name: str = "_img_cache",
        out_dir_name: str = "runs",
        **hyperparameters: Any,
    ) -> None:
        super().__init__()
        self.data_root = data_root
        self.adapter_module = adapter_module
        self.train_fn = train_fn
        self.validate_fn = validate_fn
        self.submit_fn = submit_fn
        self.dataset = dict(dataset or {})
        self.manifest_file = manifest_file
        self.cache_dir_name = cache_dir_name
        self.out_dir_name = out_dir_name
        self.hyperparameters = {name: as_given(value) for name, value in hyperparameters.items()}
        self._exchange = Exchange()
        self._last_weights: dict[str, Any] | None = None
        # Unregistered, NVFLARE would deliver every tensor empty and say nothing.
        fobs.register(TensorDecomposer)

    def execute(self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal) -> Shareable:
        """Answer one task. Never raises: the answer to a failure carries its cause in the header ``tutti_error``."""
        tasks = {
            AppConstants.TASK_TRAIN: (self._train, self.train_fn),
            AppConstants.TASK_VALIDATION: (self._validate, self.validate_fn),
            AppConstants.TASK_SUBMIT_MODEL: (self._submit, self.submit_fn),
        }
        if task_name not in tasks:
            return make_reply(ReturnCode.TASK_UNKNOWN)
        act, function = tasks[task_name]
        turn = None
        try:
            turn = self._turn(shareable, fl_ctx, abort_signal)
            return act(shareable, turn, fl_ctx)
        except BaseException as error:  # noqa: BLE001 - sys.exit() and KeyboardInterrupt of user code included
            return self._failure(error, function, turn, abort_signal)
        finally:
            release_memory()

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Tell the journal when an answer has left."""
        super().handle_event(event_type, fl_ctx)
        if event_type == EventType.AFTER_SEND_TASK_RESULT:
            journal({"type": "phase", "phase": "waiting"})

    def _train(self, shareable: Shareable, turn: Turn, fl_ctx: FLContext) -> Shareable:
        self._last_weights = None
        module = self._module()
        payload = self._payload(shareable, turn)
        # What an earlier round left there must not be taken for this round's answer.
        (turn.out_dir / "state_dict.pt").unlink(missing_ok=True)
        journal({"type": "phase", "phase": "training", "round": turn.round})
        result = self._call(module, self.train_fn, payload, turn)
        samples, metrics = samples_of(result, self.train_fn), metrics_of(result)
        weights = weights_of(result, turn.out_dir, self.train_fn)
        del result, payload
        journal({"type": "phase", "phase": "uploading", "round": turn.round})
        self._last_weights = self._exchange.pack(weights, self.logger)
        meta = self._exchange.meta() | {
            MetaKey.NUM_STEPS_CURRENT_ROUND: samples,
            MetaKey.INITIAL_METRICS: {name: value for name, value in metrics.items() if value is not None},
            "tutti_metrics": metrics,
            "tutti_validates": self._validates(module, fl_ctx),
            "tutti_place": definition(getattr(module, self.train_fn)),
        }
        return DXO(DataKind.WEIGHTS, data=self._last_weights, meta=meta).to_shareable()

    def _validate(self, shareable: Shareable, turn: Turn, _: FLContext) -> Shareable:
        journal({"type": "phase", "phase": "training", "round": turn.round, "detail": self.validate_fn})
        result = self._call(self._module(), self.validate_fn, self._payload(shareable, turn), turn)
        metrics = metrics_of(result)
        finite = {name: value for name, value in metrics.items() if value is not None}
        meta: dict[str, Any] = {"tutti_metrics": metrics}
        if "samples" in result:
            meta[MetaKey.NUM_STEPS_CURRENT_ROUND] = samples_of(result, self.validate_fn)
        return DXO(DataKind.METRICS, data=finite, meta=meta).to_shareable()

    def _submit(self, shareable: Shareable, turn: Turn, _: FLContext) -> Shareable:
        module, weights = self._module(), self._last_weights
        if hasattr(module, self.submit_fn):
            result = self._call(module, self.submit_fn, self._payload(shareable, turn), turn)
            weights = self._exchange.pack(weights_of(result, turn.out_dir, self.submit_fn), self.logger)
        if not weights:
            raise TaskError("wrong_return", "this site has no local weights yet: it was not asked to train")
        return DXO(DataKind.WEIGHTS, data=weights, meta=self._exchange.meta()).to_shareable()

    def _module(self) -> Any:
        try:
            return importlib.import_module(self.adapter_module)
        except BaseException as error:
            raise TaskError("import_failed", f"{self._script()} could not be imported: {described(error)}") from error

    def _script(self) -> str:
        return f"scripts/{self.adapter_module.replace('.', '/')}.py"

    def _call(self, module: Any, name: str, payload: dict[str, Any], turn: Turn) -> Mapping[str, Any]:
        function = getattr(module, name, None)
        if not callable(function):
            raise TaskError("name_missing", f"{self._script()} has no function {name}")
        result = function(payload, str(turn.out_dir), TrainingLog(self.logger, turn, journal))
        if turn.aborted():
            raise Aborted
        if isinstance(result, Mapping):
            return result
        if inspect.iscoroutine(result):
            result.close()
            raise TaskError(
                "wrong_return",
                f"{name} is async, so it returned a coroutine and trained nothing; "
                f"write 'def {name}' and return a dict with weights and samples",
            )
        raise TaskError(
            "wrong_return",
            f"{name} returned {a_value(result)}; it must return a dict with 'weights' (or 'state_dict') and 'samples'",
        )

    def _payload(self, shareable: Shareable, turn: Turn) -> dict[str, Any]:
        return {
            "dataset": self._dataset(turn.data_root),
            "env": self._env(turn),
            "initial_weights": self._exchange.unpack(from_shareable(shareable)),
        }

    def _dataset(self, data_root: Path) -> dict[str, Any]:
        spec = {**self.dataset, "data_root": str(data_root)}
        manifest = data_root / self.manifest_file if self.manifest_file else None
        if manifest and manifest.is_file():
            lines = manifest.read_text(encoding="utf-8-sig").splitlines()
            spec["manifest_file"] = str(manifest)
            spec["manifest"] = [json.loads(line) for line in lines if line.strip()]
        return spec

    def _env(self, turn: Turn) -> dict[str, Any]:
        env: dict[str, Any] = {"IMG_SIZE": 224, "NUM_CLASSES": 0}
        for name, value in self.hyperparameters.items():
            env[name] = env[name.upper()] = value
        for alias, name in (("EPOCHS", "LOCAL_EPOCHS"), ("LR", "LEARNING_RATE")):
            if name in env:
                env.setdefault(alias, env[name])
        facts = {
            "SITE_NAME": turn.site,
            "JOB_ID": turn.job,
            "CURRENT_ROUND": turn.round,
            "NUM_ROUNDS": turn.rounds,
            "DEVICE": "cuda:0" if torch.cuda.is_available() else "cpu",
            "CACHE_DIR": str(turn.cache_dir),
            "STATE_DIR": str(turn.state_dir),
        }
        return {name.lower(): value for name, value in facts.items()} | env | facts

    def _turn(self, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal) -> Turn:
        site, job = fl_ctx.get_identity_name(), fl_ctx.get_job_id()
        run = Path(fl_ctx.get_engine().get_workspace().get_run_dir(job))
        turn = Turn(
            site=site,
            job=os.environ.get("TUTTI_JOB_ID") or job,
            round=int(shareable.get_header(AppConstants.CURRENT_ROUND) or 0),
            rounds=int(shareable.get_header(AppConstants.NUM_ROUNDS) or 0),
            # {site} lets the sites of a hand-made federation share one machine.
            data_root=Path(os.environ.get("TUTTI_DATA_ROOT") or self.data_root.replace("{site}", site)),
            out_dir=Path(os.environ.get("TUTTI_OUT_DIR") or run / self.out_dir_name),
            cache_dir=Path(os.environ.get("TUTTI_CACHE_DIR") or run / self.cache_dir_name),
            state_dir=Path(os.environ.get("TUTTI_STATE_DIR") or run / "state"),
            aborted=lambda: bool(abort_signal.triggered),
        )
        for folder in (turn.out_dir, turn.cache_dir, turn.state_dir):
            folder.mkdir(parents=True, exist_ok=True)
        return turn

    def _validates(self, module: Any, fl_ctx: FLContext) -> bool:
        # A task that the client's config routes to no executor would abort the whole job, so the server must not ask.
        runner = fl_ctx.get_prop(FLContextKey.RUNNER)
        routed = runner is not None and runner.find_executor(AppConstants.TASK_VALIDATION) is self
        return routed and callable(getattr(module, self.validate_fn, None))

    def _failure(self, error: BaseException, function: str, turn: Turn | None, abort_signal: Signal) -> Shareable:
        if abort_signal.triggered:
            return make_reply(ReturnCode.TASK_ABORTED)
        cause = cause_of(error, function) | ({"site": turn.site, "round": turn.round} if turn else {})
        if cause["file"] is None:
            cause |= definition(getattr(sys.modules.get(self.adapter_module), function, None))
        self.logger.error(f"{cause['sentence']}\n" + "\n".join(cause["evidence"]))
        with suppress(OSError):
            if turn:
                (turn.out_dir / "error.json").write_text(json.dumps(cause, indent=1), encoding="utf-8")
        reply = make_reply(ReturnCode.EXECUTION_EXCEPTION)
        reply.set_header("tutti_error", cause)
        return reply


def release_memory() -> None:
    """Give back what the round before held: a model and its optimizer refer to each other, so they do not go by themselves."""
    gc.collect()
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.empty_cache()


def as_given(value: Any) -> Any:
    """A parameter without the mark that keeps NVFLARE from building objects out of it."""
    if isinstance(value, dict) and value.get("config_type") == "dict":
        return {name: inner for name, inner in value.items() if name != "config_type"}
    return value


class Exchange:
    """Turns global weights into what user code gets, and user code's weights into what travels.

    Half-precision tensors travel as float32 with their dtype named beside them; extra state (``_extra_state``, and
    whatever is no tensor in the global model) stays as the global model has it.
    """

    def __init__(self) -> None:
        self._travels_as: dict[str, torch.dtype] = {}
        self._dtypes: dict[str, str] = {}
        self._extras: dict[str, Any] = {}
        self._as_tensors = False

    def unpack(self, dxo: DXO) -> dict[str, Any] | None:
        """The received weights as CPU tensors of the model's dtypes; None when the server sent none."""
        if not dxo.data:
            return None
        # An aggregator may drop what only the first round's message carries.
        self._dtypes = dxo.get_meta_prop("tutti_dtypes") or self._dtypes
        self._extras = dxo.get_meta_prop("tutti_extras") or self._extras
        self._as_tensors = any(isinstance(value, torch.Tensor) for value in dxo.data.values())
        received = {name: tensor_of(name, value) for name, value in dxo.data.items()}
        self._travels_as = {name: tensor.dtype for name, tensor in received.items()}
        for name, dtype in self._dtypes.items():
            if name in received:
                received[name] = received[name].to(getattr(torch, dtype))
        return received | self._extras

    def pack(self, weights: Any, logger: Any) -> dict[str, Any]:
        """The weights as they travel, under the names and in the dtypes in which the global model came."""
        packed: dict[str, Any] = {}
        for name, value in without_prefix(weights, set(self._travels_as)).items():
            if name in self._extras or (is_extra_state(name) and name not in self._travels_as):
                logger.debug(f"{name} stays as the global model has it")
                continue
            tensor = self._widened(name, tensor_of(name, value))
            packed[name] = tensor.contiguous() if self._as_tensors else tensor.numpy(force=True)
        return packed

    def meta(self) -> dict[str, Any]:
        """What goes beside the weights: the dtypes of those that travel widened."""
        return {"tutti_dtypes": dict(self._dtypes)} if self._dtypes else {}

    def _widened(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        known = self._travels_as.get(name)
        if tensor.is_floating_point() and known is not None and known.is_floating_point:
            return tensor.to(known)
        if tensor.is_floating_point() and tensor.element_size() < 4:
            self._dtypes[name] = str(tensor.dtype).removeprefix("torch.")
            return tensor.float()
        return tensor


def is_extra_state(name: str) -> bool:
    """True for what a module's ``get_extra_state`` gave: bytes or text as a tensor, say, of which no mean has a meaning."""
    return name.rpartition(".")[2] == "_extra_state"


def tensor_of(name: str, value: Any) -> torch.Tensor:
    """A detached dense CPU tensor of the value, sharing its memory where that is safe.

    Raises TaskError naming the entry when it is nothing that can be averaged.
    """
    if isinstance(value, torch.Tensor):
        if value.layout == torch.strided and not (value.is_quantized or value.is_nested or value.is_meta):
            return value.detach().cpu().resolve_conj().resolve_neg()
    elif isinstance(value, np.ndarray | np.generic | int | float):
        array = np.asarray(value)
        if array.dtype.kind in "biufc" and array.dtype.type not in (np.longdouble, np.clongdouble):
            backwards = any(stride < 0 for stride in array.strides)
            if backwards or not (array.flags.writeable and array.dtype.isnative):
                array = array.astype(array.dtype.newbyteorder("="), order="C", copy=True)
            return torch.from_numpy(array)
    raise TaskError("wrong_return", f"weights['{name}'] is {a_value(value)}; only dense tensors can be averaged")


def without_prefix(weights: Mapping[str, Any], wanted: set[str]) -> dict[str, Any]:
    """The weights without the prefix of DataParallel or torch.compile, if the names then are the wanted ones."""
    named = dict(weights)
    while named and wanted and not wanted <= set(named):
        prefix = next((p for p in ("module.", "_orig_mod.") if all(name.startswith(p) for name in named)), None)
        if prefix is None:
            return dict(weights)
        named = {name.removeprefix(prefix): value for name, value in named.items()}
    return named


def weights_of(result: Mapping[str, Any], out_dir: Path, function: str) -> Mapping[str, Any]:
    """The weights a function returned: in the dict, in the file it names, or in ``out_dir/state_dict.pt``."""
    found = result.get("weights") if result.get("weights") is not None else result.get("state_dict")
    path = out_dir / str(result.get("final_checkpoint") or "state_dict.pt")
    if found is None and path.is_file():
        found = loaded(path, function)
    if isinstance(found, torch.nn.Module):
        found = found.state_dict()
    if isinstance(found, Mapping) and found:
        unnamed = next((name for name in found if not isinstance(name, str)), None)
        if unnamed is not None:
            raise TaskError("wrong_return", f"{function} returned weights with the name {unnamed!r}; a name is a text")
        return found
    if found is not None:
        raise TaskError(
            "wrong_return", f"{function} returned weights that are {a_value(found)}; a state dict of name and tensor is wanted"
        )
    raise TaskError(
        "wrong_return",
        f"{function} returned no weights: its dict has {sorted(map(str, result))}; "
        "'weights', 'state_dict' or 'final_checkpoint' (a file) is wanted",
    )


def loaded(path: Path, function: str) -> Any:
    """The state dict in a file; only tensors and plain values are read."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise TaskError(
            "wrong_return", f"{function} left its weights in {path.name}, which could not be read: {described(error)}"
        ) from error
    for key in ("state_dict", "model_state_dict", "model"):
        if isinstance(content, Mapping) and isinstance(content.get(key), Mapping):
            return content[key]
    return content


def samples_of(result: Mapping[str, Any], function: str) -> int:
    """How many samples the update stands for: 0 is allowed, and up to 2**53 any two counts are two weights."""
    samples = number(result.get("samples"))
    if samples is None or not 0 <= samples < 2**53 or samples != int(samples):
        raise TaskError(
            "wrong_return",
            f"{function} returned samples={result.get('samples')!r}; the number of "
            "training samples is wanted, a whole number from 0 and below 2**53, beside 'weights'",
        )
    return int(samples)


def metrics_of(result: Mapping[str, Any]) -> dict[str, float | None]:
    """Every number of the dict that is not its weights or samples; None for one that is not finite."""
    numbers = {str(key): number(value) for key, value in result.items() if key not in NOT_METRICS}
    return {name: value if math.isfinite(value) else None for name, value in numbers.items() if value is not None}


def number(value: Any) -> float | None:
    """The value as a float if it is a number (numpy's and 0-d tensors too, booleans not), else None."""
    if isinstance(value, torch.Tensor | np.ndarray):
        value = value.item() if value.ndim == 0 else None
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def cause_of(error: BaseException, function: str) -> dict[str, Any]:
    """What went wrong, the place in the user's scripts, and the last 40 lines that show it."""
    origin = error.__cause__ if isinstance(error, TaskError) and error.__cause__ else error
    file, line = place_of(origin)
    rows = "".join(traceback.format_exception(type(origin), origin, user_frames(origin))).splitlines()
    if isinstance(error, TaskError):
        code, sentence = error.reason, str(error)
    elif isinstance(error, torch.OutOfMemoryError | MemoryError) or NO_MEMORY.search(described(error)):
        code, sentence = "out_of_memory", f"{function} ran out of memory: {described(error)}"
    elif isinstance(error, SystemExit):
        code, sentence = "training_raised", f"{function} called sys.exit({error.code!r}); it must return its weights"
    else:
        code, sentence = "training_raised", f"{function} raised {described(error)}"
    return {
        "code": code,
        "sentence": sentence,
        "file": file,
        "line": line,
        "evidence": [printable(row).replace(f"{SCRIPTS}{os.sep}", "scripts/")[:500] for row in rows[-40:]],
    }


def user_frames(error: BaseException) -> TracebackType | None:
    """The traceback without the frames by which this file and the import system came to the user's code."""
    frames = error.__traceback__
    while frames and frames.tb_next and frames.tb_frame.f_code.co_filename.startswith((__file__, "<frozen", IMPORTER)):
        frames = frames.tb_next
    return frames


def definition(function: Any) -> dict[str, Any]:
    """File (relative to the workspace) and line at which a function of the user's own scripts is defined."""
    code = getattr(function, "__code__", None)
    path = Path(code.co_filename).resolve() if code else None
    if code is None or path is None or not path.is_relative_to(SCRIPTS):
        return {"file": None, "line": None}
    return {"file": f"scripts/{path.relative_to(SCRIPTS).as_posix()}", "line": code.co_firstlineno}


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
    """Type and message of an exception in at most 500 characters, with a hint where the message needs one."""
    try:
        message = printable(str(error))
    except Exception:  # noqa: BLE001 - the message is user code as well
        message = "(its message could not be made)"
    text = f"{type(error).__name__}: {message}".removesuffix(": ")[:500]
    if "Expected more than 1 value per channel" in text:
        text += " (the last batch has one sample: use drop_last=True)"
    return text


def printable(text: str) -> str:
    """The text without lone surrogates, which no file and no message could carry."""
    return text.encode("utf-8", "replace").decode()


def a_value(value: object) -> str:
    """A value as a sentence names it: its type and what else tells it from others, as a tensor's layout and dtype."""
    if value is None:
        return "None"
    if isinstance(value, torch.Tensor):
        words = [str(word).removeprefix("torch.") for word in (value.layout, value.dtype)]
        return f"a {' '.join(words)} tensor on {value.device.type}" + (", nested" if value.is_nested else "")
    size = f" of {len(value)}" if isinstance(value, tuple | list) else ""
    size = f" of {value.dtype}" if isinstance(value, np.ndarray | np.generic) else size
    return f"a {type(value).__name__}{size}"


def journal(event: dict[str, Any]) -> None:
    """Append one event to the file that TUTTI_JOURNAL names; without it nothing is written."""
    path = os.environ.get("TUTTI_JOURNAL")
    if not path:
        return
    line = json.dumps(event, allow_nan=False).encode() + b"\n"
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        while line:
            line = line[os.write(file, line) :]
    finally:
        os.close(file)
