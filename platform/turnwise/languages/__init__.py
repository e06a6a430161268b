"""Translations of worker pages that researchers write in the product, above the catalogs of locale/.

A language's texts are append-only rows. Every process keeps a copy, which it renews within seconds
(`live_texts`), so pages, sockets and scripts need no query for a text.
"""
