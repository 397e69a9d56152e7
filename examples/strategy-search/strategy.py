FAST = 25
SLOW = 80
BAND = 0.02


def position(past):
    """1 to hold, 0 to stay out. `past` are the prices up to today."""
    if len(past) < SLOW:
        return 0
    fast = sum(past[-FAST:]) / FAST
    slow = sum(past[-SLOW:]) / SLOW
    return 1 if fast > slow * (1 + BAND) else 0
