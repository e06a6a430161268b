"""A study tried out by simulated workers before people come: does its report say what was planted?"""
