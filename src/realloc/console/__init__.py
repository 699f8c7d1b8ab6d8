"""The web console: see what a store recommends and why, ask what if, review, publish."""
