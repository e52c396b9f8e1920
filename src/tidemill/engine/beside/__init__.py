"""Queries that are answered beside the ticks: soft ones and SELECTs."""
