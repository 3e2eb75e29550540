"""dSSFN against federated averaging and decentralised SGD."""
