"""From a corpus to weights: `batching`, `optimizing`, `loop`, and `parallel` for several processes."""
