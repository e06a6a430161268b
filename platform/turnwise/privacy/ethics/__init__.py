"""The document about a study for an ethics board: protocol, texts, data flow and retention."""
