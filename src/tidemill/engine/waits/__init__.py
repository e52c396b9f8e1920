"""What queries wait for, and how the sources stand that they wait for."""
