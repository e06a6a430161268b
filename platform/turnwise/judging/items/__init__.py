"""The items of a judging study: selecting, sampling, adding and removing them."""
