"""Model of the checkpoint cases: two linear layers, 8 -> 6 -> num_classes."""
import numpy as np
import torch
from torch import nn


class FLModelWrapper(nn.Module):
    def __init__(self, num_classes=3, in_features=8, hidden=6, **kwargs):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(in_features, hidden), nn.ReLU(), nn.Linear(hidden, num_classes))

    def get_extra_state(self):
        return {"format": "v1", "scale": None, "names": ["a", "b"]}

    def set_extra_state(self, state):
        assert state is None or state["format"] == "v1"

    def forward(self, x):
        return self.model(x)

    def set_weights(self, weights, strict=True):
        self.load_state_dict({k: v if k.endswith('_extra_state') else torch.as_tensor(np.asarray(v)) for k, v in weights.items()}, strict=strict)

    def get_weights(self):
        return {k: v.detach().cpu() if torch.is_tensor(v) else v for k, v in self.state_dict().items()}


def fl_train_model(payload, out_dir, logger=None):
    env = payload["env"]
    model = FLModelWrapper(num_classes=int(env.get("NUM_CLASSES") or 3))
    if payload.get("initial_weights"):
        model.set_weights(payload["initial_weights"])
    gen = torch.Generator().manual_seed(0)
    x, y = torch.randn(32, 8, generator=gen), torch.randint(0, 3, (32,), generator=gen)
    opt = torch.optim.SGD(model.parameters(), lr=float(env.get("LR", 0.01)))
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return {"weights": model.get_weights(), "samples": 32, "avg_loss": loss.item()}
