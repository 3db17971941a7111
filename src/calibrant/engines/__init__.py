"""Data that do not come as one array: batches are summarised one by one, and the summaries merged."""
