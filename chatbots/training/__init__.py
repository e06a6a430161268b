"""Code shared by all models trained with this package: command line, configuration, checkpoints, logs."""
