"""Stage III, first half: where the logs hold evidence."""
