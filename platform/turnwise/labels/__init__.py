"""Labels: the stored answers to question sets, by chatters, partners, readers and outside raters.

`models` has the label and the pair that is judged side by side; `services` saves labels of chatters and
partners
(sql/record_label.sql), while readers' labels are saved by the queue in `judging`. `queries` turns answers
into numbers in SQL
and counts votes. `explorer` and `views` are the researcher's list of conversations and the page of one
conversation.
"""
