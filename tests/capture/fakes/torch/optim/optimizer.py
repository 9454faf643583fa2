before, after = [], []


def register_optimizer_step_pre_hook(hook):
    before.append(hook)


def register_optimizer_step_post_hook(hook):
    after.append(hook)
