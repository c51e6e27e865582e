"""The wheel's tag: any Python 3, one platform. The rest is in pyproject.toml."""

import os

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.dist import Distribution


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        # scripts/python-wheel.py finds the oldest glibc that the libraries run with.
        return "py3", "none", os.environ.get("LIBQWEN_PLATFORM", super().get_tag()[2])


class BinaryDistribution(Distribution):
    def has_ext_modules(self):
        return True


setup(cmdclass={"bdist_wheel": PlatformWheel}, distclass=BinaryDistribution)
