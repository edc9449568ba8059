"""progress=: True draws a bar, by tqdm where that is installed; a function is called."""
import sys

from ._errors import InvalidTypeError


class _Bar:
    def __init__(self):
        self.bar = None
        self.done = 0

    def __call__(self, done, total):
        if self.bar is None:
            try:
                from tqdm.auto import tqdm
                self.bar = tqdm(total=total, unit="part", unit_scale=True, leave=False)
            except ImportError:
                self.bar = False
        if self.bar:
            self.bar.update(done - self.done)
            self.done = done
            if done == total:
                self.bar.close()
        else:
            end = "\r" if done < total else "\n"
            print(f"{100 * done // max(total, 1)} %", end=end, file=sys.stderr, flush=True)


def ticking(progress):
    """A function (done, total), or None."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return _Bar()
    if not callable(progress):
        raise InvalidTypeError(f"progress is {progress!r}; it can be True or a function (done, total)")
    return progress
