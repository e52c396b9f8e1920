CREATE AGGREGATE istream SOURCE 'python:total.py';
