"""Many plans ⇒ one shared plan."""

from tidemill.share.slices import (
    SharedPlan,
    extend_plan,
    share_slices,
    spec_of,
    specs_of,
    synopsis_for,
)

__all__ = ["SharedPlan", "extend_plan", "share_slices", "spec_of", "specs_of", "synopsis_for"]
