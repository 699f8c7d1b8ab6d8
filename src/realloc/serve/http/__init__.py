"""HTTP service (`realloc serve`): requests are checked, queued, decided on, logged, answered."""
