"""Windows of sketches: estimates from the sketches of all their cells, none of them merged."""
