"""Step 5 for queries whose answers are rows: those that leave as they are, and joins of them."""
