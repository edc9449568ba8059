"""Every error is a sextant.Error, and what Python has for the case."""
import numpy as np
import pytest

import sextant

CASES = [
    (ValueError, lambda ix: ix.get(2.5)),
    (ValueError, lambda ix: sextant.Index([1], rows=[-1])),
    (ValueError, lambda ix: ix.get([1, None])),
    (ValueError, lambda ix: ix.range(1, 3, limit=-1)),
    (ValueError, lambda ix: sextant.Index([1], spec="pivot(k=1)")),
    (ValueError, lambda ix: sextant.searchsorted(ix, [2.5])),
    (TypeError, lambda ix: ix.get("x")),
    (TypeError, lambda ix: sextant.Index([1, "a"])),
    (TypeError, lambda ix: sextant.Index(np.zeros(2, "c16"))),
    (IndexError, lambda ix: ix.key_at([0, 99])),
    (KeyError, lambda ix: ix[7]),
    (OSError, lambda ix: sextant.load("/nowhere/at/all.sxt")),
]


@pytest.mark.parametrize("of", range(len(CASES)))
def test_all_are_ours(of):
    kind, call = CASES[of]
    with pytest.raises(sextant.Error) as caught:
        call(sextant.Index([1, 2, 3]))
    assert isinstance(caught.value, kind)
    assert str(caught.value)


def test_closed():
    ix = sextant.Index([1])
    ix.close()
    with pytest.raises(sextant.Error) as caught:
        ix.get(1)
    assert isinstance(caught.value, ValueError)


def test_months_have_no_length():
    ix = sextant.Index(np.array([0, 2629746], "m8[s]"))
    with pytest.raises(sextant.InvalidError, match="exactly"):
        ix.get(np.timedelta64(1, "M"))
    assert ix.get(np.timedelta64(0, "M")) == 0
    assert list(sextant.Index(np.array([1, 14], "m8[M]")).get(np.array([1], "m8[Y]"))) == [-1]
    assert sextant.Index(np.array([1, 24], "m8[M]")).get(np.timedelta64(2, "Y")) == 1
