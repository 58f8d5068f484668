"""Model of the checkpoint cases: two linear layers, 8 -> 6 -> num_classes."""
import numpy as np
import torch
from torch import nn


class FLModelWrapper(nn.Module):
    def __init__(self, num_classes=3, in_features=8, hidden=6, **kwargs):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(in_features, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, num_classes))

    def forward(self, x):
        return self.model(x)

    def set_weights(self, weights, strict=True):
        self.load_state_dict({k: torch.as_tensor(np.asarray(v)) for k, v in weights.items()}, strict=strict)

    def get_weights(self):
        return {k: v.detach().cpu() for k, v in self.state_dict().items()}


def fl_train_model(payload, out_dir, logger=None):
    env = payload["env"]
    model = FLModelWrapper(num_classes=int(env.get("NUM_CLASSES") or 3))
    if payload.get("initial_weights"):
        model.set_weights(payload["initial_weights"])
    import os
    root = payload["dataset"]["data_root"]
    x = torch.as_tensor(np.load(os.path.join(root, "features.npy")))
    y = torch.as_tensor(np.load(os.path.join(root, "labels.npy")))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=32)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    model.train()
    for xb, yb in loader:
        loss = nn.functional.cross_entropy(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return {"weights": model.get_weights(), "samples": len(y), "avg_loss": loss.item()}
