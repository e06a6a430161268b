"""The tasks of studies, each in its own folder: conversation, two_people, self_play, writing, judging, pairs.

A folder with a `task.py` is a task: `discovery` finds its parts by their names (`task`, `models`, `admin`,
`urls`, `api`, `jobs`), so a new task needs no entry elsewhere. The tables of all tasks belong to this app.
The interface of tasks is `turnwise.studies.tasks.StudyTask` and the classes named there.
"""
