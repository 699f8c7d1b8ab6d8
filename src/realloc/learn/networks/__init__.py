"""Networks: M members as one, and one training loop."""
