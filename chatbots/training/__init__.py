"""What every model that is trained here shares: its command line, configuration, checkpoints and logs."""
