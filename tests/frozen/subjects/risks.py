"""What systems risk: URisk, TRisk and GeoRisk, wins and losses against a baseline.

Three systems over the bundled recipes against lexical search, with losses weighed once and five
times more than gains; Student's p-values corrected by Holm.

Checked by formula (`test_oracles_diagnosis`): URisk and TRisk of Wang, Bennett and Collins-Thompson
2012 and Dinçer, Macdonald and Ounis 2014; GeoRisk of Dinçer and others 2016.
"""

from __future__ import annotations

from typing import Any

from frozen.diagnosed import ask, recipe_qrels, some_runs


def numbers() -> Any:
    return {
        f"losses count {1 + weight} times": _risks(
            ask(
                "risk",
                recipe_qrels(),
                some_runs(),
                ["nDCG@10", "RR@10"],
                baseline="lexical",
                configs={"risk": {"loss_weight": weight}},
            )
        )
        for weight in (1, 4)
    }


def _risks(answer: Any) -> Any:
    return {
        "critical t": answer.critical,
        "systems": {
            f"{row.measure} {row.system}": {
                "mean": row.mean,
                "GeoRisk": row.geo_risk,
                **({} if row.against is None else _against(row)),
            }
            for row in answer.systems
        },
    }


def _against(row: Any) -> Any:
    return {
        "reward": row.against.reward,
        "loss": row.against.loss,
        "wins": row.against.wins,
        "losses": row.against.losses,
        "URisk": row.against.u_risk,
        "TRisk": row.against.t_risk,
        "p": row.p_corrected,
    }
