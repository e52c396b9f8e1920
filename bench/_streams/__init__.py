"""What streams over streams, rows without windows, and lateness by arrival cost: a module for
each part of the table, a `Ratio` for each of its rows."""
