"""Cost against the number of averagings, over all layers."""
