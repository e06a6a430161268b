"""A small language model of today, added by one button on *Bots*.

`manage.py add_small_model` fetches it from the Hugging Face hub, unpacks it into `models/` of the data
folder and registers a bot; the job worker starts it in a process of its own.
"""
