"""Your model and your training function. It runs as it is, on a tiny synthetic set; three places want your own code.

    1. FLModelWrapper      your network
    2. load_data           your data, read from the unpacked shard
    3. train               your loop

Save it as model_def.py in scripts/. Each round every worker calls fl_train_model() with the global weights, and the
server averages what comes back, weighted by "samples".
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

HYPERPARAMETERS = {"local_epochs": 2, "batch_size": 32, "learning_rate": 0.001}
# The values of the wizard, for runs on your own machine. In a job they arrive in payload["env"].

FEATURES, CLASSES = 16, 3


class FLModelWrapper(nn.Module):
    # Keep **kwargs: the server passes every model argument of config_fed_server.json.
    def __init__(self, num_classes: int = CLASSES, **kwargs: Any) -> None:
        super().__init__()
        # 1. >>> your network <<<
        self.model = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, num_classes))

    def forward(self, x: Tensor) -> Any:
        return self.model(x)

    def set_weights(self, weights: dict[str, Tensor], strict: bool = True) -> None:
        self.load_state_dict(weights, strict=strict)

    def get_weights(self) -> dict[str, Tensor]:
        return {name: value.detach().cpu() for name, value in self.state_dict().items()}


def load_data(data_root: str, site: str, train: bool) -> TensorDataset:
    """The shard's own training or test set.

    Understands features.npy and labels.npy at the top of the shard; without them it makes up a small set, so that the
    whole path can be tried before there is data.
    """
    # 2. >>> your data, e.g. Path(data_root) / "images" <<<
    features, labels = Path(data_root) / "features.npy", Path(data_root) / "labels.npy"
    if features.is_file() and labels.is_file():
        import numpy as np

        x = torch.from_numpy(np.load(features)).float().flatten(1)
        y = torch.from_numpy(np.load(labels)).long()
    else:
        x, y = synthetic_set(site)
    cut = max(1, len(x) // 5)
    return TensorDataset(x[cut:], y[cut:]) if train else TensorDataset(x[:cut], y[:cut])


def synthetic_set(site: str, size: int = 240) -> tuple[Tensor, Tensor]:
    """Three clouds of points, the same clouds for every site and other points for each."""
    centres = torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(1)) * 0.6
    points = torch.Generator().manual_seed(sum(map(ord, site)))
    y = torch.randint(0, CLASSES, (size,), generator=points)
    return centres[y] + torch.randn(size, FEATURES, generator=points), y


def train(model: nn.Module, data: TensorDataset, env: dict[str, Any], log: Any) -> float:
    # 3. >>> your loop: losses, schedulers, augmentation, all as you have it <<<
    epochs, device, batch = int(env.get("EPOCHS", 1)), env["DEVICE"], int(env.get("BATCH_SIZE", 32))
    # BatchNorm cannot train on a single sample, so a last batch of one is left out.
    loader = DataLoader(data, batch_size=batch, shuffle=True, drop_last=len(data) > batch and len(data) % batch == 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=float(env.get("LR", 0.001)))
    loss_of = nn.CrossEntropyLoss()
    model.train()
    mean_loss = 0.0
    for epoch in range(epochs):
        total, seen = 0.0, 0
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_of(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
            total, seen = total + loss.item() * len(x), seen + len(x)
        mean_loss = total / max(1, seen)
        # A dict with "epoch" and "of" shows as progress on the job page.
        log({"epoch": epoch + 1, "of": epochs, "loss": mean_loss})
    return mean_loss


def fl_train_model(payload: dict[str, Any], out_dir: str, logger: Any = None) -> dict[str, Any]:
    # Every hyperparameter is in env twice: as you named it and in upper case (EPOCHS and LR are the usual short names).
    env = payload["env"]
    model = FLModelWrapper(num_classes=int(env["NUM_CLASSES"]) or CLASSES)
    if payload["initial_weights"] is not None:
        model.set_weights(payload["initial_weights"])
    model.to(env["DEVICE"])

    data = load_data(payload["dataset"]["data_root"], env["SITE_NAME"], train=True)
    loss = train(model, data, env, logger or print)

    # "weights" and "samples" are required; every other number becomes a curve on the job page.
    # Whatever you write to out_dir is kept with the job's files.
    return {"weights": model.get_weights(), "samples": len(data), "avg_loss": loss}


def fl_validate_model(payload: dict[str, Any], out_dir: str, logger: Any = None) -> dict[str, Any]:
    """Optional: measures the new global model after each round."""
    env = payload["env"]
    model = FLModelWrapper(num_classes=int(env["NUM_CLASSES"]) or CLASSES)
    model.set_weights(payload["initial_weights"])
    model.eval()
    x, y = load_data(payload["dataset"]["data_root"], env["SITE_NAME"], train=False).tensors
    with torch.no_grad():
        accuracy = (model(x).argmax(1) == y).float().mean().item()
    return {"accuracy": accuracy, "samples": len(x)}


if __name__ == "__main__":
    values = {name.upper(): value for name, value in HYPERPARAMETERS.items()}
    trial = {"DEVICE": "cpu", "NUM_CLASSES": 0, "SITE_NAME": "site-1", **values}
    trial.setdefault("EPOCHS", values.get("LOCAL_EPOCHS", 1))
    trial.setdefault("LR", values.get("LEARNING_RATE", 0.001))
    first = FLModelWrapper().get_weights()
    call = {"env": trial, "dataset": {"data_root": "."}, "initial_weights": first}
    result = fl_train_model(call, ".")
    print(result["samples"], "samples;", fl_validate_model({**call, "initial_weights": result["weights"]}, "."))
