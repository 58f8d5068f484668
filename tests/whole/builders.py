"""Folders that a user might run, small enough to train in a moment, and ways to spoil them."""

import io
import zipfile
from pathlib import Path

MODEL_DEF = '''"""A tiny regression that trains at once."""
import os
import time

import numpy as np
import torch


class FLModelWrapper(torch.nn.Module):
    def __init__(self, **kwargs):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)

    def set_weights(self, weights):
        self.load_state_dict(weights)

    def get_weights(self):
        return {name: value.detach().cpu() for name, value in self.state_dict().items()}


def fl_train_model(payload, out_dir, logger=None):
    env = payload["env"]
    assert env["learning_rate"] == env["LEARNING_RATE"] == env["LR"]
    model = FLModelWrapper()
    model.set_weights(payload["initial_weights"])
    rows = torch.from_numpy(np.load(os.path.join(payload["dataset"]["data_root"], "rows.npy")))
    optimizer = torch.optim.SGD(model.parameters(), lr=float(env["LR"]))
    epochs = int(env["EPOCHS"])
    for epoch in range(1, epochs + 1):
        loss = ((model.layer(rows[:, :2]) - rows[:, 2:]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logger({"epoch": epoch, "of": epochs, "loss": loss.item()})
    logger.info(f"trained on {len(rows)} rows")
    with open(os.path.join(out_dir, "note.txt"), "w") as note:
        note.write(env["SITE_NAME"])
    return {"weights": model.get_weights(), "samples": len(rows), "loss": loss.item()}


def fl_validate_model(payload, out_dir, logger=None):
    return {"bias": float(payload["initial_weights"]["layer.bias"][0])}
'''

FOREVER = "    time.sleep(600)\n"
"""Placed into the training function, it never comes back by itself."""


def rows_zip(seed: int) -> bytes:
    """A shard: 60 rows of x, y and 2x - y + 1 with a little noise, other ones for each seed."""
    import numpy as np

    chance = np.random.default_rng(seed)
    inputs = chance.normal(size=(60, 2))
    targets = 2 * inputs[:, :1] - inputs[:, 1:] + 1 + 0.01 * chance.normal(size=(60, 1))
    array, archive = io.BytesIO(), io.BytesIO()
    np.save(array, np.hstack([inputs, targets]).astype(np.float32))
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("rows.npy", array.getvalue())
    return archive.getvalue()


def folder(root: Path, *, shards: int = 2, model_def: str = MODEL_DEF) -> Path:
    """A folder for ``tutti run``: one script and so many shards."""
    (root / "scripts").mkdir(parents=True)
    (root / "shards").mkdir()
    (root / "scripts" / "model_def.py").write_text(model_def)
    for number in range(shards):
        (root / "shards" / f"shard_{number}.zip").write_bytes(rows_zip(number))
    return root


def spoiled(old: str, new: str) -> str:
    """MODEL_DEF with one place changed; the place must be there."""
    assert old in MODEL_DEF
    return MODEL_DEF.replace(old, new, 1)
