"""The one boundary: whatever a user holds comes in, typed and checked predictions come out."""
