"""Results of several studies together: side by side, over time, against perplexity and human-likeness."""
