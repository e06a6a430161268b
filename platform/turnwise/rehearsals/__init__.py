"""Rehearsals: simulated workers try a study with known effects, and its report must recover them.

`simulated_answers` and `injected_effects` decide the answers. `simulated_worker` and `simulation` use the
real pages and sockets. `expected_results` computes the expected figures, and `findings` compares them with
the report. `rehearsed_task` declares what a task provides; `run` carries out one rehearsal. A rehearsal is a
copy of its study (`services`), which can be deleted with everything in it.
"""
