"""What the agreed totals and the trained model reveal of single rows, measured."""
