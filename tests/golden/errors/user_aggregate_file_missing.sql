CREATE AGGREGATE total SOURCE 'python:missing.py';
