"""Partials of files on arrays: the tick's rows never become rows of the JVM."""
