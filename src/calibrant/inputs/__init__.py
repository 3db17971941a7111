"""The one boundary: whatever a user passes comes in, typed and checked predictions come out."""
