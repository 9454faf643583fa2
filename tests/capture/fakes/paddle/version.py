import os

full_version = os.environ.get("FAKE_PADDLE_VERSION", "3.3.1")
