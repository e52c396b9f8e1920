from tidemill.synopsis.limbs import *  # noqa
