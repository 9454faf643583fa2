import os


def get_rank():
    return int(os.environ.get("FAKE_RANK", "0"))


def get_world_size():
    return int(os.environ.get("FAKE_WORLD", "2"))


def get_process_group_ranks(group):
    return group
