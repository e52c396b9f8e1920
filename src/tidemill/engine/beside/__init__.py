"""What is answered beside the ticks: soft queries and SELECTs."""
