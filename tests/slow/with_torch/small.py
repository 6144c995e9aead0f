"""Small models with the weights of a seed, in the folders that sentence-transformers writes."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import sentence_transformers
import torch
import transformers
from conformance.world import WORDS

torch.set_num_threads(1)  # the machine may have other things to do

LENGTH = 64
_LETTERS = [*string.ascii_lowercase, *string.digits]
VOCABULARY = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *(*WORDS, "quince", "stew"),
    *_LETTERS,
    *(f"##{letter}" for letter in _LETTERS),
]


def make(
    folder: Path, kind: str, *, seed: int = 1, size: int = 32, labels: int = 1, broken: str = ""
) -> Path:
    """Write a model of two layers; ``broken`` names what its last weight is: nan, inf."""
    places = {token: number for number, token in enumerate(VOCABULARY)}
    tokenizer: Any = transformers.BertTokenizerFast(vocab=places, model_max_length=LENGTH)
    config: Any = transformers.BertConfig(
        vocab_size=len(places),
        hidden_size=size,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=2 * size,
        max_position_embeddings=LENGTH,
        initializer_range=0.5,  # scores as far apart as those of a trained model
        num_labels=labels,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        scorer = kind == "CrossEncoder"
        model: Any = getattr(
            transformers, f"Bert{'ForSequenceClassification' if scorer else 'Model'}"
        )(config)
    if broken:
        last = model.classifier.bias if scorer else model.embeddings.LayerNorm.bias
        torch.nn.init.constant_(last, float(broken))
    plain = folder.with_name(f"{folder.name}-plain")
    model.save_pretrained(plain)
    tokenizer.save_pretrained(plain)
    wrapped = getattr(sentence_transformers, kind)(str(plain), local_files_only=True)
    wrapped.save(str(folder))
    return folder
