"""Language models in the format of Hugging Face: their files, their prompts, their decoding."""
