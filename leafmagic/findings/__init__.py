"""Rules that look at what was recorded and say what is wrong."""
