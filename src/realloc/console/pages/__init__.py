"""The screens of the console: one function each, from a visit to what it shows."""
