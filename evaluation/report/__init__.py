"""The figures of a study's report, computed from its conversations, labels and measures.

They are pure functions, so anyone with a study's bundle can recompute its report without the platform.
`studies` has one module per kind of study; `bundles` reads and describes the files of a bundle.
"""
