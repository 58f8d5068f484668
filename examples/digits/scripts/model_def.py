"""Handwritten digits, federated: the whole of what you write for a Tutti job.

Three things are looked up by name: the model class ``FLModelWrapper``, the training function ``fl_train_model`` and, if you
like, ``fl_validate_model``. Everything else in this file is ordinary PyTorch.
"""

from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class FLModelWrapper(nn.Module):
    """Two layers on 8×8 images. Dropout and no BatchNorm: averaging running statistics of skewed shards hurts."""

    def __init__(self, hidden=128, classes=10, **kwargs):  # **kwargs: the server config may hold more than you declare
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(64, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, classes))

    def forward(self, images):
        return self.layers(images)

    def set_weights(self, weights, strict=True):
        self.load_state_dict(weights, strict=strict)

    def get_weights(self):
        return {name: value.detach().cpu() for name, value in self.state_dict().items()}


def fl_train_model(payload, out_dir, logger=print):
    """One round on this worker: take the global weights, train on the own shard, give the weights back."""
    env = payload["env"]  # your parameters of the Training step, and facts such as SITE_NAME and CURRENT_ROUND
    epochs, batch_size, lr = int(env["LOCAL_EPOCHS"]), int(env["BATCH_SIZE"]), float(env["LEARNING_RATE"])
    torch.manual_seed(int(env["CURRENT_ROUND"]))  # the same job twice gives the same model

    model = FLModelWrapper()
    model.set_weights(payload["initial_weights"])
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    training, validation = load_shard(payload["dataset"]["data_root"])
    batches = DataLoader(training, batch_size=batch_size, shuffle=True)

    for epoch in range(1, epochs + 1):
        loss = train_epoch(model, batches, optimizer)
        logger({"epoch": epoch, "of": epochs, "loss": loss})  # moves the progress bar of the job page

    # "weights" are averaged, weighted by "samples"; every other number is a metric, charted per worker and round.
    _, accuracy = evaluate(model, validation)
    return {"weights": model.get_weights(), "samples": len(training), "loss": loss, "accuracy": accuracy}


def fl_validate_model(payload, out_dir, logger=print):
    """After each averaging: how good is the new global model on images this worker did not train on?"""
    model = FLModelWrapper()
    model.set_weights(payload["initial_weights"])
    _, validation = load_shard(payload["dataset"]["data_root"])
    loss, accuracy = evaluate(model, validation)
    # Names of their own: "accuracy" above is of this worker's model, which has forgotten what the others know.
    return {"global_loss": loss, "global_accuracy": accuracy, "samples": len(validation)}


def train_epoch(model, batches, optimizer):
    """One pass over the shard; the mean loss of an image."""
    model.train()
    total = 0.0
    for images, labels in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
    return total / len(batches.dataset)


@torch.no_grad()
def evaluate(model, dataset):
    """Mean loss and accuracy."""
    model.eval()
    images, labels = dataset.tensors
    scores = model(images)
    return F.cross_entropy(scores, labels).item(), (scores.argmax(dim=1) == labels).float().mean().item()


def load_shard(data_root):
    """The shard as its zip was unpacked: train on four fifths, keep every fifth image to validate on."""
    with np.load(Path(data_root) / "digits.npz") as shard:
        images = torch.from_numpy(shard["images"]).float() / 16
        labels = torch.from_numpy(shard["labels"]).long()
    kept = torch.arange(len(labels)) % 5 == 4
    return TensorDataset(images[~kept], labels[~kept]), TensorDataset(images[kept], labels[kept])
