"""Makes up customers' messages for three shops, messages nobody trains on, and a base model that knows a little English.

    python examples/messages/make_shards.py [FOLDER]
        writes FOLDER/shards/shard_{0,1,2}.zip, FOLDER/model/base.pt and FOLDER/held_out.tsv

The same messages every time, byte for byte.
"""

import io
import runpy
import sys
import zipfile
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).parent
SHARDS = ((180, (0, 1, 2)), (120, (0, 1, 2)), (60, (0, 1)))
"""How many messages a shop has, and with which labels: nobody ever asks the third shop anything."""
HELD_OUT, PUBLIC = 150, 90
ENGLISH = (
    ["broken", "late", "refund", "missing", "damaged", "wrong", "cold", "rude", "torn", "never"],
    ["great", "thanks", "lovely", "perfect", "fast", "tasty", "happy", "excellent", "friendly", "again"],
    ["when", "where", "how", "could", "which", "open", "possible", "hours", "whether", "price"],
)
OTHERS = (
    ["kaputt", "verspätet", "beschädigt", "déçu", "cassé", "perdu", "壊れた"],
    ["wunderbar", "freundlich", "danke", "merci", "parfait", "délicieux", "最高"],
    ["wann", "wo", "öffnet", "combien", "où", "ouvert", "何時"],
)
"""Words that give a label away; the base model has only seen the English ones."""
FILLER = (
    *("the", "order", "was", "my", "parcel", "shop", "today", "with", "and", "it", "for", "this", "very", "please", "from"),
    *("café", "über", "注文"),
)

Messages = list[tuple[str, int]]


def make_shards(folder: Path) -> tuple[list[Path], Path]:
    """Write the shards, the base model and the held-out messages; the paths of the first and the last."""
    chance = np.random.default_rng(5)
    paths = []
    for part in ("shards", "model"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for number, (count, labels) in enumerate(SHARDS):
        paths.append(folder / "shards" / f"shard_{number}.zip")
        paths[-1].write_bytes(zipped("messages.tsv", tsv(messages(chance, count, labels))))
    (folder / "held_out.tsv").write_bytes(tsv(messages(chance, HELD_OUT, (0, 1, 2))))
    write_base_model(messages(chance, PUBLIC, (0, 1, 2), english=True), folder / "model" / "base.pt")
    return paths, folder / "held_out.tsv"


def messages(chance: np.random.Generator, count: int, labels: tuple[int, ...], *, english: bool = False) -> Messages:
    """So many messages with these labels; one in five also holds a word that points to a random label."""
    made = []
    for label in chance.choice(labels, count):
        misleading = [int(chance.integers(3))] if chance.uniform() < 0.2 else []
        telling = [*[int(label)] * int(chance.integers(1, 4)), *misleading]
        words = [str(chance.choice(ENGLISH[each] if english else ENGLISH[each] + OTHERS[each])) for each in telling]
        words += map(str, chance.choice(FILLER, int(chance.integers(3, 9))))
        made.append((" ".join(chance.permutation(words)), int(label)))
    return made


def tsv(lines: Messages) -> bytes:
    """A message a line: text, tab, label."""
    return "".join(f"{text}\t{label}\n" for text, label in lines).encode()


def zipped(name: str, content: bytes) -> bytes:
    """A zip of one file at its top level, without a date of today in it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), content, compress_type=zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def write_base_model(public: Messages, path: Path) -> None:
    """A few epochs on public messages: the checkpoint that round 0 starts from."""
    model_def = runpy.run_path(str(HERE / "scripts" / "model_def.py"))
    torch.manual_seed(0)
    model = model_def["FLModelWrapper"]()
    numbers = torch.tensor([model_def["word_numbers"](text) for text, _ in public])
    labels = torch.tensor([label for _, label in public])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(10):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(numbers), labels).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    torch.save(model.get_weights(), path)


if __name__ == "__main__":
    home = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    for path in make_shards(home)[0]:
        print(path)
