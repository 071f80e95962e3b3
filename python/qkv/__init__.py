"""qkv: tensors, ops and gradients of the engine, with NumPy in and out."""

from qkv._qkv import *  # noqa: F401,F403
from qkv._qkv import __doc__  # noqa: F401
