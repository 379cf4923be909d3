"""The program in a browser: a local web application over the commands.

A page on this machine runs the same commands that the command line has, each in a process of its
own, and shows the command and the Python that do the same. Nothing leaves the machine.
"""
