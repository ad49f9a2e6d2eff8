"""The systems that the paper compares, and ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from emea.runs.store import System

PARIS = System("PARIS", "fast", ("method=paris",), "probability", emits=True)
PRASE = System("PRASE", "fast", ("method=prase",), "probability", emits=True)
EMEA_SUP = System("EMEA sup")  # with RREA, as changed by us
EMEA_SEMI = EMEA_SUP.but("EMEA semi", "encoders.rrea.mode=semi")
RREA_SUP = EMEA_SUP.but("RREA sup", "em.rounds=0")
RREA_SEMI = EMEA_SEMI.but("RREA semi", "em.rounds=0")
RREA_LONG = replace(EMEA_SUP, name="RREA sup, 3,200 epochs", at_once=True)  # 1,200 and ten times 200
LETTER = ", to the letter"
MODELS = {"RREA": "rrea", "Dual-AMN": "dual_amn", "AliNet": "alinet", "IPTransE": "iptranse"}  # in the paper's loop
QUOTED = {  # in Table 3 only
    "GCN-Align": "gcn_align",
    "MuGNN": "mugnn",
    "RSN": "rsn",
    "MRAEA": "mraea",
    "PSR": "psr",
    "BootEA": "bootea",
}
ENCODERS = {**MODELS, **QUOTED}


def encoder_of(model: str) -> str:
    """The encoder that a model's name stands for; an encoder of one's own stands for itself."""
    return ENCODERS.get(model, model)


def model_of(encoder: str) -> str:
    """The name of an encoder's model."""
    return {name: model for model, name in ENCODERS.items()}.get(encoder, encoder)


def ours(preset: str) -> System:
    """One of our own presets, ranked by its final beliefs."""
    return System(f"emea {preset}", preset, (), "probability")


def guided(model: str) -> System:
    """A model in the paper's loop."""
    return EMEA_SUP if model == "RREA" else System(f"EMEA with {model}", "paper", (f"em.encoder={encoder_of(model)}",))


def alone(model: str, mode: str = "sup") -> System:
    """A model without the loop."""
    turns = () if mode == "sup" else (f"encoders.{encoder_of(model)}.mode={mode}",)
    return guided(model).but(f"{model} {mode}", *turns, "em.rounds=0")


def avoiding(system: System) -> System:
    """The same with AvoidConf in place of the PARIS rule."""
    return system.but(f"{system.name}, AvoidConf", "em.rules=avoid_conflict")


def as_written(system: System) -> System:
    """The same with the loop exactly as the paper writes it."""
    return replace(system, name=f"{system.name}{LETTER}", preset="letter")


def as_changed(system: System) -> System:
    """The same."""
    return system


Version = Callable[[System], System]
VERSIONS: dict[str, Version] = {"letter": as_written, "paper": as_changed}  # by preset
