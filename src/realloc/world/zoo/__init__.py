"""Worlds that the method was not made for: other responses, noises, scales and logging policies."""

from realloc.world.zoo.cards import CARDS, Card
from realloc.world.zoo.zoo import ZooSample, ZooWorld

__all__ = ["CARDS", "Card", "ZooSample", "ZooWorld"]
