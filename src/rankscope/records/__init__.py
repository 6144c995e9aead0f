"""Records: what a benchmark leaves behind, versioned and documented field by field.

Between what computes (`statistics`, `diagnosis`) and what shows (`reports`): records are made of
the parts that were computed, and reports read records and compute nothing. Each record is one JSON
file that names its schema, ``rankscope/<kind>/<n>``. One of another
version is refused with a sentence.

- `EvaluationReport`: how good one system is, on one collection
- `BenchmarkReport`: all systems of an experiment, compared
- `ExperimentTimings`: what the clock says of it, so that all else is the same on every run
- `ExperimentManifest`: what is needed to repeat the experiment, and to see that nothing changed
"""
