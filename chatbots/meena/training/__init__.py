"""Training of a Meena: `settings`, `batching`, `loop`, `distillation`, `parallel` and `perplexity`."""
