"""Computes the numbers from what the strategy did. Nothing of the strategy runs here."""

import json
import os

from prices import prices

COST = 0.0005

market = prices()
positions = json.load(open("positions.json"))
if len(positions) != len(market) or any(p not in (0, 1) for p in positions):
    raise SystemExit("the positions are not one 0 or 1 for each day")
wealth, top, drawdown, trades, held = 1.0, 1.0, 0.0, 0, 0
for day in range(len(market) - 1):
    if positions[day] != held:
        held, trades, wealth = positions[day], trades + 1, wealth * (1 - COST)
    if held:
        wealth *= market[day + 1] / market[day]
    top = max(top, wealth)
    drawdown = max(drawdown, 1 - wealth / top)
with open(os.environ["COFFERDAM_RESULT"], "w") as out:
    json.dump({"growth": wealth - 1, "drawdown": drawdown, "trades": trades}, out)
