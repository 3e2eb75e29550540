"""Model cards: what a model is, for those who use it or answer for it."""
