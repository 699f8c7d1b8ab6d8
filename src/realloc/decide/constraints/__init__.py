"""What a decision may not do: floors, caps, budgets, rounding to money."""
