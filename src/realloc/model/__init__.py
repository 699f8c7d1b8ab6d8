"""The files that know the order: a round, a recommendation, an explanation, the model itself."""
