"""Files of predictions larger than memory: batches of their rows, and what is measured of them."""
