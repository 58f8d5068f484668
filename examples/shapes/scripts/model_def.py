"""Segmentation, federated: a tiny U-Net that marks discs and squares in small pictures.

A shard holds images/*.png and labels/*.png of the same names, as on your own disk. All but the last function is what a script
that trains on one machine would hold anyway.
"""

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

CLASSES = 3  # 0 ground, 1 disc, 2 square


def block(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


class FLModelWrapper(nn.Module):
    """A U-Net of two steps. Its BatchNorm counters are integers, and still are after averaging."""

    def __init__(self, classes=CLASSES, width=8, **kwargs):  # **kwargs: the server config may hold more than you declare
        super().__init__()
        torch.manual_seed(0)  # the federation starts from the same weights each time
        self.down1, self.down2 = block(3, width), block(width, 2 * width)
        self.middle = block(2 * width, 4 * width)
        self.up2, self.up1 = block(6 * width, 2 * width), block(3 * width, width)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, images):
        fine = self.down1(images)
        coarse = self.down2(F.max_pool2d(fine, 2))
        middle = self.middle(F.max_pool2d(coarse, 2))
        coarse = self.up2(torch.cat([F.interpolate(middle, scale_factor=2), coarse], dim=1))
        return self.head(self.up1(torch.cat([F.interpolate(coarse, scale_factor=2), fine], dim=1)))

    def set_weights(self, weights, strict=True):
        self.load_state_dict(weights, strict=strict)

    def get_weights(self):
        return {name: value.detach().cpu() for name, value in self.state_dict().items()}


class Pictures(Dataset):
    """Every picture that has a label of the same name; whatever else lies in the folders is none."""

    def __init__(self, root):
        self.pairs = [(path, Path(root, "labels", path.name)) for path in sorted(Path(root, "images").glob("*.png"))]
        self.pairs = [(image, label) for image, label in self.pairs if label.is_file()]
        if not self.pairs:
            raise ValueError("no pairs of images/*.png and labels/*.png; zip the two folders themselves, without one around them")

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        image, label = (np.array(Image.open(path)) for path in self.pairs[index])
        return torch.from_numpy(image).permute(2, 0, 1).float() / 255, torch.from_numpy(label).long()


def train_epoch(model, batches, optimizer, device):
    """One pass over the pictures; the mean loss of a batch."""
    model.train()
    losses = []
    for images, labels in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def mean_iou(model, pictures):
    """Intersection over union of all pictures, as the mean of the classes."""
    model.eval()
    images, labels = (torch.stack(part) for part in zip(*pictures, strict=True))
    found = model(images).argmax(dim=1)
    hits = [((found == c) & (labels == c)).sum().item() for c in range(CLASSES)]
    either = [((found == c) | (labels == c)).sum().item() for c in range(CLASSES)]
    return sum(hit / max(1, all_) for hit, all_ in zip(hits, either, strict=True)) / CLASSES


def fl_train_model(payload, out_dir, logger=print):
    """One round on this worker: take the global weights, train on the own shard, give the weights back."""
    env = payload["env"]  # your parameters of the Training step, and facts such as DEVICE and CURRENT_ROUND
    epochs, batch_size, lr = int(env["LOCAL_EPOCHS"]), int(env["BATCH_SIZE"]), float(env["LEARNING_RATE"])
    torch.manual_seed(int(env["CURRENT_ROUND"]))  # the same job twice gives the same model

    model = FLModelWrapper()
    model.set_weights(payload["initial_weights"])
    model.to(env["DEVICE"])
    pictures = Pictures(payload["dataset"]["data_root"])
    # drop_last: BatchNorm cannot train on a last batch of one picture.
    batches = DataLoader(pictures, batch_size=batch_size, shuffle=True, drop_last=len(pictures) > batch_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(1, epochs + 1):
        loss = train_epoch(model, batches, optimizer, env["DEVICE"])
        logger({"epoch": epoch, "of": epochs, "loss": loss})  # moves the progress bar of the job page

    return {"weights": model.get_weights(), "samples": len(pictures), "loss": loss}
