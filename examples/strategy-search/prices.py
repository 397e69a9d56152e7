"""Prices that are the same on every machine: a slow wave, a trend and noise, from integers alone."""


def prices(days=600, seed=20240229):
    state, wave, price, out = seed, 0, 100_000, []
    for day in range(days):
        state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
        noise = state // 65_536 % 601 - 300
        # A triangle of 60 days: up for 30, down for 30.
        wave = 240 if day % 60 < 30 else -240
        price = max(1_000, price + wave + noise + 12)
        out.append(price / 1_000)
    return out
