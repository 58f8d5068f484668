"""How good is the global model, and how good would each worker have been alone?"""

import importlib.util
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch.utils.data import TensorDataset

Weights = dict[str, torch.Tensor]


def load_module(path: Path) -> ModuleType:
    """A Python file as a module, wherever it lies."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Jury:
    """Judges models of one model_def on the held-out images."""

    def __init__(self, model_def: ModuleType, held_out: Path) -> None:
        torch.set_num_threads(1)  # on models as small as this, threads wait for each other most of the time
        self._model_def = model_def
        with np.load(held_out) as digits:
            images, labels = torch.from_numpy(digits["images"]).float() / 16, torch.from_numpy(digits["labels"]).long()
        self._images = TensorDataset(images, labels)

    def accuracy_of_file(self, path: Path) -> float:
        """Of a downloaded model. Raises when the file holds more than tensors, or not exactly the model's."""
        return self.accuracy(torch.load(path, weights_only=True))

    def accuracy(self, weights: Weights) -> float:
        """The share of the held-out images that is read rightly."""
        model = self._model_def.FLModelWrapper()
        model.load_state_dict(weights, strict=True)
        return float(self._model_def.evaluate(model, self._images)[1])

    def alone(self, shard: Path, scratch: Path, *, rounds: int, parameters: Mapping[str, Any]) -> float:
        """Of a worker that trains on its shard for as many epochs as the job did, with the job's own function, and never
        hears of the others."""
        root = scratch / shard.stem
        with zipfile.ZipFile(shard) as archive:
            archive.extractall(root)
        torch.manual_seed(0)
        weights = self._model_def.FLModelWrapper().get_weights()
        env = {name.upper(): value for name, value in parameters.items()}
        for number in range(rounds):
            payload = {"env": env | {"CURRENT_ROUND": number}, "initial_weights": weights, "dataset": {"data_root": str(root)}}
            weights = self._model_def.fl_train_model(payload, str(root), lambda _: None)["weights"]
        return self.accuracy(weights)


def verdict(together: float, alone: Sequence[float], *, least: float) -> str | None:
    """What is wrong with the accuracies, in a sentence; None when nothing is."""
    if together < least:
        return f"the global model's accuracy is {together:.3f}; at least {least} was expected"
    if together <= max(alone):
        return f"the global model ({together:.3f}) is not better than the best lone worker ({max(alone):.3f})"
    return None
