"""A bounded memory of moves that teachers labelled."""
