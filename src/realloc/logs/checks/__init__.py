"""What is wrong with a log, what is risky, and what it explores."""
