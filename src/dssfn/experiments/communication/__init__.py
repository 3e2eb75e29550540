"""The ratio eta: what gradient descent sends to reach the cost of dSSFN."""
