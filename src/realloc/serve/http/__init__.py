"""The HTTP service: strict at the door, one version per answer, and "keep the mix" whenever anything goes wrong inside."""
