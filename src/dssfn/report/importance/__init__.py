"""The importance of columns for predictions: words, and a figure."""
