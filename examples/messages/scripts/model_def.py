"""Text, federated: sorts short messages of customers into complaints, praise and questions.

A shard holds messages.tsv: one message a line, its text, a tab, its label. Workers must number words alike without ever seeing
each other's, so a word's number is computed from the word; a vocabulary counted in each shard would differ between workers.
"""

import zlib
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

CLASSES = 3  # 0 complaint, 1 praise, 2 question
WORDS, LONGEST = 512, 16


class FLModelWrapper(nn.Module):
    """The mean of the words' vectors, and one layer on top of it."""

    def __init__(self, classes=CLASSES, width=16, **kwargs):  # **kwargs: the server config may hold more than you declare
        super().__init__()
        self.embedding = nn.Embedding(WORDS + 1, width, padding_idx=0)
        self.head = nn.Linear(width, classes)

    def forward(self, numbers):
        is_word = (numbers > 0).unsqueeze(-1)
        mean = (self.embedding(numbers) * is_word).sum(dim=1) / is_word.sum(dim=1).clamp(min=1)
        return self.head(mean)

    def set_weights(self, weights, strict=True):
        self.load_state_dict(weights, strict=strict)

    def get_weights(self):
        return {name: value.detach().cpu() for name, value in self.state_dict().items()}


def word_numbers(text):
    """The numbers of the first words, from 1; 0 fills up. (Python's own hash() differs from process to process.)"""
    numbers = [1 + zlib.crc32(word.encode("utf-8")) % WORDS for word in text.lower().split()][:LONGEST]
    return numbers + [0] * (LONGEST - len(numbers))


def read_messages(path):
    """Every message of a file as word numbers, and its label."""
    rows = [line.rsplit("\t", 1) for line in Path(path).read_text("utf-8").splitlines() if line]
    return TensorDataset(torch.tensor([word_numbers(text) for text, _ in rows]), torch.tensor([int(label) for _, label in rows]))


def train_epoch(model, batches, optimizer):
    """One pass over the messages; the mean loss of one."""
    model.train()
    total = 0.0
    for numbers, labels in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(numbers), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
    return total / len(batches.dataset)


@torch.no_grad()
def evaluate(model, messages):
    """Mean loss and accuracy."""
    model.eval()
    numbers, labels = messages.tensors
    scores = model(numbers)
    return F.cross_entropy(scores, labels).item(), (scores.argmax(dim=1) == labels).float().mean().item()


def fl_train_model(payload, out_dir, logger=print):
    """One round on this worker. In round 0 the weights that come in are those of model/base.pt."""
    env = payload["env"]  # your parameters of the Training step, and facts such as SITE_NAME and CURRENT_ROUND
    epochs, batch_size, lr = int(env["LOCAL_EPOCHS"]), int(env["BATCH_SIZE"]), float(env["LEARNING_RATE"])
    torch.manual_seed(int(env["CURRENT_ROUND"]))  # the same job twice gives the same model

    model = FLModelWrapper()
    model.set_weights(payload["initial_weights"])
    messages = read_messages(Path(payload["dataset"]["data_root"]) / "messages.tsv")
    loss_before, accuracy_before = evaluate(model, messages)  # what the others' rounds are worth on messages from here

    batches = DataLoader(messages, batch_size=batch_size, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(1, epochs + 1):
        loss = train_epoch(model, batches, optimizer)
        logger({"epoch": epoch, "of": epochs, "loss": loss})  # moves the progress bar of the job page

    # "weights" are averaged, weighted by "samples"; every other number is a metric, charted per worker and round.
    metrics = {"loss": loss, "loss_before": loss_before, "accuracy_before": accuracy_before}
    return {"weights": model.get_weights(), "samples": len(messages), **metrics}
