"""A generator that asks a model server on this host, in the form that most of them speak.

MODEL_URL is the address of the server (as in http://127.0.0.1:8080/v1/chat/completions), MODEL_NAME the model. What the
model answers is a candidate like any other: it is checked, run in a sandbox and scored."""

import json
import os
import re
import sys
import urllib.request

told = json.load(sys.stdin)
url = os.environ.get("MODEL_URL")
if not url:
    sys.exit("MODEL_URL is not set: set it for `cofferdam loop loop-model.yaml`, or use generate.py, which needs no model")
ask = (
    "Improve this trading strategy. The score is its growth; a drawdown above 0.25 does not count.\n"
    f"Earlier trials: {json.dumps(told['history'][-8:])}\n"
    "Answer with the whole file strategy.py in one ```python block and nothing else.\n\n"
    + open("strategy.py").read()
)
body = {
    "model": os.environ.get("MODEL_NAME", "default"),
    "messages": [{"role": "user", "content": ask}],
    "seed": told["seed"],
}
request = urllib.request.Request(
    url, json.dumps(body).encode(), {"Content-Type": "application/json"}
)
with urllib.request.urlopen(request, timeout=120) as answer:
    text = json.load(answer)["choices"][0]["message"]["content"]
found = re.search(r"```(?:python)?\n(.*?)```", text, re.S)
print(found.group(1) if found else text, end="")
