"""Models at work in other processes: one way to open a version, HTTP, MLflow."""
