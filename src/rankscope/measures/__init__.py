"""Measures: what a number means, how it is asked for, and how it is computed.

`language` reads and writes measures, `registry` holds their definitions, and each family of
measures is a module of short functions of a `rankscope.measures.judged.JudgedRun`.
"""
