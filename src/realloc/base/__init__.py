"""What everything else stands on: geometry, validation, progress, files on disk, numerics."""
