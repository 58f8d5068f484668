import os

import numpy as np
import torch
from torch import nn


class FLModelWrapper(nn.Module):
    def __init__(self, num_classes=3, **kwargs):
        super().__init__()
        self.model = nn.Conv2d(1, num_classes, 3, padding=1)

    def forward(self, x):
        return self.model(x)


def fl_train_model(payload, out_dir, logger=None):
    env = payload["env"]
    root = payload["dataset"]["data_root"]
    model = FLModelWrapper(env["num_classes"])
    model.load_state_dict(payload["initial_weights"])
    names = sorted(os.listdir(f"{root}/images"))
    logger("%s, round %d: %d images, 100%% of them used" % (env["site_name"], env["current_round"], len(names)))
    images = torch.stack([torch.from_numpy(np.load(f"{root}/images/{name}")) for name in names])
    labels = torch.stack([torch.from_numpy(np.load(f"{root}/labels/{name}")) for name in names])
    optimizer = torch.optim.SGD(model.parameters(), lr=env["learning_rate"])
    for epoch in range(env["local_epochs"]):
        for part in torch.arange(len(names)).split(env["batch_size"]):
            loss = nn.functional.cross_entropy(model(images[part]), labels[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        logger({"epoch": epoch + 1, "of": env["local_epochs"], "loss": loss.item()})
    with open(os.path.join(out_dir, "last_loss.txt"), "w") as f:
        f.write(str(loss.item()))
    return {"weights": {k: v.detach().cpu() for k, v in model.state_dict().items()}, "samples": len(names), "avg_loss": loss.item()}
