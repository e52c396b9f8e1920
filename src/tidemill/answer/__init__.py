"""Step 5: window requests and the cells behind them ⇒ answer rows."""
