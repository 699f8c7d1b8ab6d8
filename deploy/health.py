"""Exit code 0 if the service on this machine is ready to answer, 1 if not."""

import sys
import urllib.request

port = sys.argv[1] if len(sys.argv) > 1 else "8000"
try:
    urllib.request.urlopen(f"http://localhost:{port}/readyz", timeout=2).close()
except OSError as problem:
    sys.exit(f"not ready: {problem}")
