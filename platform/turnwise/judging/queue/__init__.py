"""The labelling queue: leases, saved judgments, training and cost."""
