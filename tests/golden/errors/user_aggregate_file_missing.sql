CREATE AGGREGATE total SOURCE 'python:total.py';
