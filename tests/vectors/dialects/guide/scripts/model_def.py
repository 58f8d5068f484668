import os

import numpy as np
import torch
import torch.nn as nn


class FLModelWrapper(nn.Module):
    def __init__(self, num_classes=3, pretrained=True, **kwargs):
        super().__init__()
        if pretrained:
            raise RuntimeError("the server config says pretrained: false")
        self.model = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, num_classes, 1))

    def forward(self, x):
        return self.model(x)

    def set_weights(self, weights, strict=True):
        self.load_state_dict(weights, strict=strict)

    def get_weights(self):
        return {k: v.detach().cpu() for k, v in self.state_dict().items()}


def fl_train_model(payload: dict, out_dir: str, logger=None) -> dict:
    # 1. Read hyperparams from payload["env"]
    env = payload["env"]
    num_classes = int(env["NUM_CLASSES"])
    lr = float(env["LR"])

    # 2. Create model + load global weights
    model = FLModelWrapper(num_classes=num_classes, pretrained=False)
    model.set_weights(payload["initial_weights"])

    # 3. Load your dataset shard
    data_root = payload["dataset"]["data_root"]
    images_dir = os.path.join(data_root, "images")
    masks_dir = os.path.join(data_root, "labels")
    names = sorted(os.listdir(images_dir))
    images = torch.stack([torch.from_numpy(np.load(os.path.join(images_dir, n))) for n in names])
    masks = torch.stack([torch.from_numpy(np.load(os.path.join(masks_dir, n))) for n in names])

    # 4. the training logic
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    model.train()
    for epoch in range(int(env["EPOCHS"])):
        for part in torch.arange(len(names)).split(int(env["BATCH_SIZE"])):
            loss = nn.functional.cross_entropy(model(images[part]), masks[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        logger.info(f"round {env['CURRENT_ROUND']} epoch {epoch}: loss {loss.item():.4f}")
    avg_loss = loss.item()
    with open(os.path.join(out_dir, "last_loss.txt"), "w") as f:
        f.write(f"{env['SITE_NAME']} {avg_loss}")

    # 5. Return updated weights + sample count
    return {
        "weights": model.get_weights(),  # executor sends these to server
        "samples": len(names),  # used by FedAvg for weighting
        "avg_loss": avg_loss,  # optional, for monitoring
    }
