"""What a Python of its own loads, and what it finds whatever is asked first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rankscope.tables import native


def run(program: str, *arguments: str) -> None:
    subprocess.run([sys.executable, "-c", program, *arguments], check=True)


def test_reading_measures_loads_neither_numpy_nor_polars() -> None:
    run(
        "import sys; from rankscope.measures.language import Measure;"
        "assert 'numpy' not in sys.modules; Measure.parse('nDCG@10');"
        "assert 'polars' not in sys.modules and 'importlib.metadata' not in sys.modules"
    )


@pytest.mark.parametrize(
    "question", ["definition_of('nDCG')", "known_names().index('nDCG')", "all_definitions()[0]"]
)
def test_measures_are_there_whatever_is_asked_first(question: str) -> None:
    run(f"from rankscope.measures import registry; registry.{question}")


def test_a_healthy_evaluation_of_dicts_loads_neither_polars_nor_pydantic() -> None:
    run(
        "import sys, rankscope as rs\n"
        "scores = rs.evaluate({'q': {'a': 1}, 'p': {'a': 1}}, {'q': {'a': 2.0, 'b': 1.0}})\n"
        "assert scores.run().remarks\n"
        "assert not {'polars', 'pydantic'} & set(sys.modules)\n"
        "assert [one.code for one in scores.findings] == ['RS161']\n"
        "assert 'polars' not in sys.modules\n"
    )


@pytest.mark.skipif(native.library() is None, reason="the native scan was not built")
def test_scoring_files_loads_neither_polars_nor_pydantic(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 d1 1\nq1 0 d2 0\n")
    (tmp_path / "run").write_text("q1 Q0 d2 1 2.5 t\nq1 Q0 d1 2 1.5 t\n")
    program = (
        "import sys, rankscope as rs; assert rs.evaluate(*sys.argv[1:], ['RR'])['RR'] == 0.5;"
        "assert not {'polars', 'pydantic'} & set(sys.modules)"
    )
    run(program, str(tmp_path / "qrels"), str(tmp_path / "run"))


def test_a_piped_run_goes_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q1 0 d1 1\nq1 0 d2 0\n")
    program = "import sys, rankscope as rs; print(rs.evaluate(sys.argv[1], '-', ['RR']).runs)"
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "qrels")],
        input=b"q1 Q0 d2 1 2.5 bm25\nq1 Q0 d1 2 1.5 bm25\n",
        capture_output=True,
        check=True,
    )
    assert done.stdout.decode() == "['bm25']\n"
