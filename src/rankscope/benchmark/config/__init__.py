"""The config of a benchmark: from a file to models that are checked.

`syntax` reads the file, `overrides` applies settings, `secrets` finds variables, `rag_spec`
translates the specification's block, and the models of `model` check the whole; `system_specs` the
systems. `loading.read_config` does all of this. Nothing is built and no collection is opened here.
"""
