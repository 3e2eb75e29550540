"""The report of one training, from what `result.json` holds."""
