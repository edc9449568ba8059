"""Shows `sextant bench --json` lines as a table."""
import json
import sys

for line in sys.stdin:
    r = json.loads(line)
    if "spec" not in r:
        continue
    speed = r["mkeys_per_s"]
    print("%-50s %-6s %9s M/s %7s x binary search %6.2f B/key  build %.3f s  wrong %d" % (
        r["spec"], r["op"], "%.2f" % speed if speed else "-",
        "%.2f" % r["vs_binary_search"] if r["vs_binary_search"] else "-",
        r["bytes_per_key"], r["build_s"], r["wrong"]))
