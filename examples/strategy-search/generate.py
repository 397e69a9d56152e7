"""A generator without a model: takes the champion's numbers and changes them a little, by the seed it is given.

It finds the champion's strategy.py in its workspace (`start_from: champion`) and prints the next one."""

import json
import random
import re
import sys

told = json.load(sys.stdin)
chance = random.Random(told["seed"])
text = open("strategy.py").read()


def number(name):
    return float(re.search(rf"^{name} = ([0-9.]+)$", text, re.M).group(1))


fast, slow, band = number("FAST"), number("SLOW"), number("BAND")
fast = min(60, max(2, round(fast + chance.choice([-8, -4, -2, -1, 1, 2, 4, 8]))))
slow = min(120, max(fast + 1, round(slow + chance.choice([-16, -8, -4, -1, 1, 4, 8, 16]))))
band = min(0.1, max(0.0, round(band + chance.choice([-0.01, -0.005, -0.002, 0, 0.002, 0.005]), 4)))
for name, value in [("FAST", fast), ("SLOW", slow), ("BAND", band)]:
    text = re.sub(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.M)
print(text, end="")
