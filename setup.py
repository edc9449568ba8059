"""Builds the Python package: `make python` compiles it, setuptools packs it.

The Makefile alone knows the sources of the library, so it builds the extension (with the
library and xxHash inside), the tool and, where nvcc is, the CUDA backend. NVCC= in the
environment leaves the backend out.

The wheel of 3.11 and later serves all of these. One of 3.9 or 3.10, or of a Python without a
GIL, serves that version alone, and is built in a folder of its own.
"""
import os
import re
import shutil
import subprocess
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = os.path.dirname(os.path.abspath(__file__))
STABLE = sys.version_info >= (3, 11) and not sysconfig.get_config_var("Py_GIL_DISABLED")
BUILD = "build" if STABLE else "build/" + sysconfig.get_config_var("SOABI")


class Make(build_ext):
    def build_extension(self, ext):
        jobs = os.cpu_count() or 1
        subprocess.run(["make", "-s", f"-j{jobs}", f"PYTHON={sys.executable}", f"B={BUILD}",
                        "python"], cwd=HERE, check=True)
        target = os.path.dirname(os.path.abspath(self.get_ext_fullpath(ext.name)))
        os.makedirs(target, exist_ok=True)
        made = os.path.join(HERE, BUILD, "python", "sextant")
        core = "_core.abi3.so" if STABLE else "_core" + sysconfig.get_config_var("EXT_SUFFIX")
        shutil.copy2(os.path.join(made, core), self.get_ext_fullpath(ext.name))
        for name in ("sextant", "libsextant-cuda.so"):
            if os.path.exists(os.path.join(made, name)):
                shutil.copy2(os.path.join(made, name), os.path.join(target, name))


with open(os.path.join(HERE, "Makefile"), encoding="utf-8") as makefile:
    version = re.search(r"^VERSION := (\S+)$", makefile.read(), re.M).group(1)

setup(
    version=version,
    package_dir={"": "python"},
    packages=["sextant"],
    package_data={"sextant": ["py.typed", "*.pyi"]},
    ext_modules=[Extension("sextant._core", sources=[], py_limited_api=STABLE)],
    cmdclass={"build_ext": Make},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
