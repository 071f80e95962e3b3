"""The wheel: what CMake makes of the target python_package. QKV_BUILD names a folder where that is built already."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent


class BuildWithCMake(build_ext):
    def build_extension(self, extension):
        folder = Path(os.environ.get('QKV_BUILD', ROOT / 'build/wheel'))
        if 'QKV_BUILD' not in os.environ:
            subprocess.run(['cmake', '-S', ROOT, '-B', folder, '-G', 'Ninja',
                            '-D', 'CMAKE_BUILD_TYPE=Release',
                            '-D', 'QKV_PYTHON=ON', '-D', 'QKV_BUILD_TESTS=OFF',
                            '-D', f'Python_EXECUTABLE={sys.executable}'], check=True)
            subprocess.run(['cmake', '--build', folder, '--target', 'python_package'], check=True)
        to = Path(self.get_ext_fullpath(extension.name)).parent
        to.mkdir(parents=True, exist_ok=True)
        for file in (folder / 'python/qkv').iterdir():
            if file.suffix in ('.so', '.pyi'):
                shutil.copy(file, to)


(ROOT / 'build').mkdir(exist_ok=True)
setup(version=re.search(r'project\(qkv VERSION (\S+)', (ROOT / 'CMakeLists.txt').read_text())[1],
      ext_modules=[Extension('qkv._qkv', [])],
      cmdclass={'build_ext': BuildWithCMake},
      options={'egg_info': {'egg_base': 'build'}, 'build': {'build_base': 'build/setuptools'}})
