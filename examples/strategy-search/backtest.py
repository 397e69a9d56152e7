"""Runs the strategy day by day and writes down what it did. It computes no score: that is score.py's, elsewhere."""

import json

from prices import prices
from strategy import position

past, positions = [], []
for price in prices():
    past.append(price)
    positions.append(1 if position(past) else 0)
with open("positions.json", "w") as out:
    json.dump(positions, out)
