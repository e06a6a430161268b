"""Exports: a study's labels and conversations as files, and the bundle of a study.

`turn_files` streams labels as CSV and JSON Lines; `published_formats` streams conversations in the formats of
neural.chat and Topical-Chat. `bundle` writes a zip archive with the study's design, data and report; `rows`
reads its tables, `files` and `parquet` write them, and `bundle_jobs` makes bundles in a detached process and
keeps them for a day. docs/exports.md describes the columns. Every text passes the study's redactor.
"""
