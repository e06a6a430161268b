"""One file per bot. The registry imports every module of this folder: keep heavy imports inside the bot."""
