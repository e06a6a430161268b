"""Context sets: dialogues so far, to which systems respond, in versions that never change.

`versioned` and `versioned_pages` are shared by all versioned sets (context sets, knowledge bases): models,
writes and the pages
new, import and preview. `tables` reads rows of uploaded JSON Lines and CSV for other apps, too; `files`
parses and writes
contexts; `reading` parses a file in a process of its own; `uploads` keeps an upload between preview
and import.
"""
