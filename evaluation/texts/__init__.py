"""Texts by themselves: cleaning, personal data, repetition, similarity, uninformative contexts."""
