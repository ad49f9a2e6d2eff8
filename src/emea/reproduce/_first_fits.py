"""Fits that several runs begin with, made once."""

from __future__ import annotations

from emea import plugins
from emea.contracts import Encoder
from emea.encoders._training import TrainedEncoder
from emea.method.rounds import Fitting, State
from emea.runs.store import Cell
from emea.settings import EMEA, Settings


class FirstFits:
    """Fits of an encoder to the seeds, which runs that differ only in what follows share instead of repeating them."""

    def __init__(self) -> None:
        self.graphs: tuple[str, float | None, int] | None = None
        self.known: dict[str, FirstFit] = {}

    def of(self, cell: Cell, settings: Settings) -> FirstFit:
        """The one that a run on this set, ratio and split begins with; only those of the present ones are kept."""
        graphs = cell.data, cell.ratio, cell.split
        if graphs != self.graphs:
            self.graphs, self.known = graphs, {}
        if settings.method != EMEA or settings.probability.fit_to != "validation":  # which seeds are hidden depends
            return FirstFit()
        if not issubclass(plugins.find("encoders", settings.em.encoder, Encoder), TrainedEncoder):
            return FirstFit()  # that can go on from the end of a fit
        before = (settings.encoder_settings(), settings.evidence, settings.probability)
        made_of = [settings.em.encoder, *(each.model_dump_json() for each in before), settings.seed]
        return self.known.setdefault(repr(made_of), FirstFit())


class FirstFit:
    """The state at the end of such a fit, and how long it took."""

    def __init__(self) -> None:
        self.state: State | None = None
        self.seconds: float | None = None
        self.reached: State | None = None

    def watch(self, fitting: Fitting) -> None:
        """Keep the state at the end of each turn; that of the last one stays."""
        progress = fitting.progress
        if fitting.round == 0 and fitting.state is not None and progress.epoch == progress.epochs:
            self.reached = fitting.state()

    def end(self, record: dict[str, float]) -> None:
        """After the first round: a run that went on from the fit is told its time; from now on others may."""
        if self.state is not None and self.seconds is not None:
            record["seconds"] += self.seconds - record["fitting"]
            record["fitting"] = self.seconds
        elif self.reached is not None:
            self.state, self.seconds = self.reached, record["fitting"]
