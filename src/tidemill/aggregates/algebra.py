from tidemill.synopsis.kernels.algebra import *  # noqa
