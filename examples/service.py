"""The HTTP service and a client, with nothing but the standard library."""

# %% A store with one version
import json
import subprocess
import sys
import urllib.request

import realloc
from realloc.storage.store import Store

UNITS = 300
world = realloc.World(regime="medium", seed=2)
logs = world.sample(units=UNITS, periods=5)
store = Store("store")
with store.writer():
    store.commit(realloc.ReAlloc(realloc.Config(seed=4)).fit(logs), logs)

# %% The service, on a free port of this machine
start = "from realloc.cli.main import main; main()"
command = [sys.executable, "-c", start, "serve", "--store", "store", "--port", "0"]
service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)  # noqa: S603
for line in service.stderr:
    print(line, end="")
    if "http://" in line:
        address = line[line.index("http://") :].split()[0].rstrip(".,")
        break

# %% Ask for two rows. `traceparent` ties the request to your own trace
row = world.sample(units=2, periods=1, seed=1).to_pandas().drop(columns="orders")
row["date"] = row["date"].astype(str)
request = urllib.request.Request(  # noqa: S310
    f"{address}/v1/recommend",
    json.dumps({"rows": row.to_dict("records")}).encode(),
    {
        "Content-Type": "application/json",
        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    },
)
with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
    answer = json.load(response)
print(json.dumps(answer, indent=2)[:800])

# %% Stop it: open requests are answered first
service.terminate()
service.wait(30)
service.stderr.close()
