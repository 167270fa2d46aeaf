from .recipe import Campaign as Campaign
from .world import World as World
