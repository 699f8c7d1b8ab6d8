"""Command line: parse, call, print. One verb per job, one file per verb."""
