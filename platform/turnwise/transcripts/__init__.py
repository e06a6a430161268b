"""Conversations from elsewhere: imported from files, or relayed by hand from another website.

`importers` holds one module per file format. An upload is previewed (`importing`, `file_reading`), then
stored by a subprocess (`storing`); `undoing` takes it back. `relaying` is for conversations on other
websites.
"""
