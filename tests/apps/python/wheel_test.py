"""pip makes a wheel that works without the repository. CMake has built what is in it."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PIP = [sys.executable, '-m', 'pip', '--disable-pip-version-check', '-q']


def has_all(modules):
    return all(importlib.util.find_spec(module) for module in modules)


@unittest.skipUnless(has_all(('pip', 'setuptools', 'wheel')), 'pip, setuptools or wheel is missing')
class WheelTest(unittest.TestCase):
    def test_installs_from_the_folder_without_a_network(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ, QKV_BUILD=os.environ['QKV_BINARY_DIR'], PIP_NO_INDEX='1',
                               PYTHONDONTWRITEBYTECODE='1')
            subprocess.run([*PIP, 'install', '--no-build-isolation', '--no-deps', '--target', folder,
                            os.environ['QKV_SOURCE_DIR']],
                           env=environment, check=True)
            self.assertTrue((Path(folder) / 'qkv/_qkv.pyi').exists())
            program = 'import qkv; print(qkv.__file__, qkv.__version__, qkv.exp(qkv.zeros(2)).tolist())'
            ran = subprocess.run([sys.executable, '-c', program], env=dict(os.environ, PYTHONPATH=folder), cwd='/', text=True,
                                 capture_output=True, check=True)
            self.assertEqual(ran.stdout, f'{folder}/qkv/__init__.py 0.1.0 [1.0, 1.0]\n')


if __name__ == '__main__':
    unittest.main()
