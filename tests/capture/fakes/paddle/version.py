full_version = "3.3.1"
