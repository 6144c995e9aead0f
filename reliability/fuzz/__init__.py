"""Fuzzing: hostile input for every door of rankscope, repeatable by seed.

`inputs` makes input: mutations of valid files, text by grammar, and attacks on resources. `targets`
says what is done with it and what may come of it. `workers` does it, in processes of their own with
limits on memory and time. `minimal` makes what failed small. The command is in `__main__`.
"""
