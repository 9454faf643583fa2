import os


def get_pipeline_model_parallel_rank():
    return int(os.environ.get("FAKE_RANK", "0"))


def get_pipeline_model_parallel_world_size():
    return 2


def get_tensor_model_parallel_rank():
    return 0


def get_tensor_model_parallel_world_size():
    return 1
