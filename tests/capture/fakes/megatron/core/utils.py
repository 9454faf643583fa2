def get_model_config(model):
    return model.config
