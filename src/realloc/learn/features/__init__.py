"""States as numbers: what is known before a decision, encoded for learners."""
