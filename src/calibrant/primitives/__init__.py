"""The only code whose cost grows with the rows: a reference body each, and a fast one where it pays."""
