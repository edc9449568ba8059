"""python -m sextant: the tool, as the package was built with it."""
import os
import sys


def main():
    tool = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sextant")
    os.execv(tool, ["sextant"] + sys.argv[1:])


if __name__ == "__main__":
    main()
