"""From a corpus to weights: `batching`, `optimizing`, `checkpoint`, `loop`; `parallel` for several processes."""
