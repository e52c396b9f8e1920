"""The plan-cost study of weaving, in parts."""
