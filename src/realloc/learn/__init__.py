"""Everything that is learned from logs: nuisances, teacher, memory, student, support."""
