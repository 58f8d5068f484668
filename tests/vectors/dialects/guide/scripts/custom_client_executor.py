import importlib
import os
from typing import Optional

import numpy as np
import torch
from nvflare.apis.dxo import DXO, DataKind, MetaKey, from_shareable
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal


class GenericClientExecutor(Executor):
    def __init__(
        self,
        data_root: str = "/var/tmp/nvflare/data",
        adapter_module: str = "model_def",
        train_fn: str = "fl_train_model",
        validate_fn: str = "fl_validate_model",
        submit_fn: str = "fl_submit_model",
        dataset: Optional[dict] = None,
        manifest_file: Optional[str] = "manifest.ndjson",
        # generic hyperparams (passed to adapter in env):
        # here update params to match yours
        # --------------------------------
        local_epochs: int = 1,
        batch_size: int = 32,
        learning_rate: float = 1e-3,
        img_size: int = 224,
        num_classes: int = 0,  # optional override; adapter may infer otherwise
        cache_dir_name: str = "_img_cache",
        # --------------------------------
        out_dir_name: str = "runs",  # keep this
    ):
        super().__init__()
        self.data_root = data_root
        self.adapter_module = adapter_module
        self.train_fn = train_fn
        self.validate_fn = validate_fn
        self.submit_fn = submit_fn
        self.dataset_spec = dataset
        self.manifest_file = manifest_file
        # here update params to match yours
        # --------------------------------
        self.local_epochs = int(local_epochs)
        self.batch_size = int(batch_size)
        self.learning_rate = float(learning_rate)
        self.img_size = int(img_size)
        self.num_classes = int(num_classes) if num_classes else 0
        self.cache_dir = os.path.join(self.data_root, cache_dir_name)
        # --------------------------------
        self.out_root = os.path.join(self.data_root, out_dir_name)
        self.device = None

    def execute(self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal) -> Shareable:
        if task_name != "train":
            return make_reply(ReturnCode.TASK_UNKNOWN)
        try:
            weights, samples = self._run_adapter(shareable, fl_ctx)
        except Exception as error:
            self.log_exception(fl_ctx, f"training failed: {error}")
            return make_reply(ReturnCode.EXECUTION_EXCEPTION)
        meta = {MetaKey.NUM_STEPS_CURRENT_ROUND: samples}
        return DXO(DataKind.WEIGHTS, data=weights, meta=meta).to_shareable()

    def _run_adapter(self, shareable: Shareable, fl_ctx: FLContext):
        site_name = fl_ctx.get_identity_name()
        job_id = fl_ctx.get_job_id()
        current_round = shareable.get_header("current_round", 0)
        received = from_shareable(shareable).data
        global_weights = {k: torch.as_tensor(np.array(v)) for k, v in received.items()} if received else None
        out_dir = os.path.join(self.out_root, job_id, site_name)
        os.makedirs(out_dir, exist_ok=True)
        dataset = {"data_root": self.data_root, **(self.dataset_spec or {})}
        payload = {
            "dataset": dataset,
            "env": {
                "SITE_NAME": site_name,
                "JOB_ID": job_id,
                "CURRENT_ROUND": current_round,
                # here update params to match yours
                # --------------------------------
                "EPOCHS": self.local_epochs,
                "BATCH_SIZE": self.batch_size,
                "LR": self.learning_rate,
                "IMG_SIZE": self.img_size,
                "CACHE_DIR": self.cache_dir,
                # optional: keep this aligned with server model shape
                "NUM_CLASSES": self.num_classes,
                # --------------------------------
            },
            "initial_weights": global_weights,  # may be None in round 0
        }
        train = getattr(importlib.import_module(self.adapter_module), self.train_fn)
        result = train(payload, out_dir, self.logger)
        weights = {k: v.detach().cpu().numpy() for k, v in result["weights"].items()}
        return weights, result["samples"]
