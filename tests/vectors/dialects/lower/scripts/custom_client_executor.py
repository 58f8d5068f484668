import importlib
import os

import torch
from nvflare.apis.dxo import DXO, DataKind, MetaKey, from_shareable
from nvflare.apis.executor import Executor


class GenericClientExecutor(Executor):
    def __init__(self, data_root="/workspace/data", adapter_module="model_def", train_fn="fl_train_model", out_dir_name="runs",
                 local_epochs=1, batch_size=32, learning_rate=0.001, num_classes=0):
        super().__init__()
        self.data_root = data_root
        self.adapter_module = adapter_module
        self.train_fn = train_fn
        self.out_root = os.path.join(data_root, out_dir_name)
        self.params = {
            "local_epochs": local_epochs,
            "batch_size": batch_size,
            "learning_rate": learning_rate,
            "num_classes": num_classes,
        }

    def execute(self, task_name, shareable, fl_ctx, abort_signal):
        def log(message):
            self.log_info(fl_ctx, str(message))

        os.makedirs(self.out_root, exist_ok=True)
        weights = {k: torch.from_numpy(v.copy()) for k, v in from_shareable(shareable).data.items()}
        payload = {
            "env": {**self.params, "site_name": fl_ctx.get_identity_name(), "current_round": shareable.get_header("current_round")},
            "dataset": {"data_root": self.data_root},
            "initial_weights": weights,
        }
        train = getattr(importlib.import_module(self.adapter_module), self.train_fn)
        result = train(payload, self.out_root, log)
        data = {k: v.numpy() for k, v in result["weights"].items()}
        return DXO(DataKind.WEIGHTS, data=data, meta={MetaKey.NUM_STEPS_CURRENT_ROUND: result["samples"]}).to_shareable()
