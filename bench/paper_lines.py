"""Lines that bench/papers.sh wrote, and what they say: for papers.py and papers_hb.py."""
import json


class Figure:
    """The lines of a file; the first one tells how the others were made."""

    def __init__(self, path):
        with open(path) as lines:
            self.head, *self.lines = map(json.loads, lines)
        self.name = self.head["figure"]
        self.measured = [x for x in self.lines if "spec" in x
                         and "not_measured" not in x]
        self.sets = list(dict.fromkeys(x["set"] for x in self.lines
                                       if "set" in x))

    def missing(self):
        """The measurements that were not made, and why."""
        return list(dict.fromkeys(
            f"{x['spec']}: {x['not_measured']}" for x in self.lines
            if "not_measured" in x))

    def wrong(self):
        return sum(x["wrong"] for x in self.measured)

    def pick(self, set_name, run, spec=None, op=None, options=None):
        """The lines of a run, by their batch."""
        return {x["batch"]: x for x in self.measured
                if x["set"] == set_name and x["run"] == run
                and spec in (None, x.get("requested_spec"))
                and op in (None, x["op"])
                and options in (None, x.get("options"))}

    def batches(self, run):
        return sorted({x["batch"] for x in self.measured if x["run"] == run})


def rate(line):
    """10^6 answers a second by the median call."""
    if line is None or line["wrong"]:
        return None
    if "call_us" in line:
        return min(line["batch"], line["queries"]) / line["call_us"]
    if "mkeys_per_s" in line:
        return line["mkeys_per_s"]
    return line["g_per_s"] * 1000


def at(lines, batch):
    """The line of this batch; or of the longest batch below; or any line."""
    best = max((b for b in lines if b <= batch), default=None)
    return lines[best] if best is not None else \
        next(iter(lines.values()), None)


def over(a, b):
    return a / b if a and b else None
