CREATE AGGREGATE sum SOURCE 'python:total.py';
