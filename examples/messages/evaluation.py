"""How many of the held-out messages does a downloaded model sort rightly?

python examples/messages/evaluation.py [MODEL [HELD_OUT]]      prints the accuracy
"""

import runpy
import sys
from pathlib import Path

import torch

HERE = Path(__file__).parent


def accuracy(model_file: Path, held_out: Path) -> float:
    """Of the model in the file. Raises when the file holds more than tensors, or not exactly the model's."""
    model_def = runpy.run_path(str(HERE / "scripts" / "model_def.py"))
    model = model_def["FLModelWrapper"]()
    model.load_state_dict(torch.load(model_file, weights_only=True), strict=True)
    return float(model_def["evaluate"](model, model_def["read_messages"](held_out))[1])


if __name__ == "__main__":
    model_out, messages = HERE / "model_out" / "GLOBAL_MODEL.pt", HERE / "held_out.tsv"
    paths = [Path(argument) for argument in sys.argv[1:]]
    print(f"accuracy on held-out messages: {accuracy(*(paths + [model_out, messages][len(paths) :])):.3f}")
