"""Python's search for circles of garbage, in processes that run for long."""

import gc

# Objects that may come into being before Python looks for circles among them (its own default is 700), and
# how many such looks go by before it looks among older ones, too: what closed sockets leave behind is there.
NEW_OBJECTS, LOOKS, LONGER_LOOKS = 10_000, 5, 5


def spare_the_collector() -> None:
    """Keep Python from searching all that was loaded, again and again, for garbage that is not there.

    It took a third of the processor time of a busy server, and every caller waited meanwhile; of a large
    report, whose charts are made of many small objects, a sixth.
    """
    gc.collect()
    gc.freeze()
    gc.collect()  # how soon all is searched again depends on how much the last search found
    gc.set_threshold(NEW_OBJECTS, LOOKS, LONGER_LOOKS)
