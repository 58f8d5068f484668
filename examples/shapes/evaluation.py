"""How well does a downloaded model mark the held-out pictures?

python examples/shapes/evaluation.py [MODEL [HELD_OUT]]      prints the mean intersection over union
"""

import runpy
import sys
from pathlib import Path

import torch

HERE = Path(__file__).parent


def mean_iou(model_file: Path, held_out: Path) -> float:
    """Of the model in the file. Raises when the file holds more than tensors, or not exactly the model's."""
    model_def = runpy.run_path(str(HERE / "scripts" / "model_def.py"))
    model = model_def["FLModelWrapper"]()
    model.load_state_dict(torch.load(model_file, weights_only=True), strict=True)
    return float(model_def["mean_iou"](model, list(model_def["Pictures"](held_out))))


if __name__ == "__main__":
    model_out, pictures = HERE / "model_out" / "GLOBAL_MODEL.pt", HERE / "held_out"
    paths = [Path(argument) for argument in sys.argv[1:]]
    print(f"mean IoU on held-out pictures: {mean_iou(*(paths + [model_out, pictures][len(paths) :])):.3f}")
