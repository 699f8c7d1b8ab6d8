"""Work in parts."""

import torch

from realloc.learn.teacher.surface import in_chunks


def test_parts_together_are_the_whole_in_order():
    values = torch.arange(2 * 10 * 3.0).view(2, 10, 3)
    for size in (1, 3, 10, 100):
        seen = []

        def part(rows, seen=seen):
            seen.append(values[:, rows].shape[1])
            return values[:, rows]

        assert torch.equal(in_chunks(10, size, part), values)
        assert max(seen) <= size
