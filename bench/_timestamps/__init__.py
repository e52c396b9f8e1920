"""The study of timestamps: the graphs of the papers, their loads, and what was measured."""
