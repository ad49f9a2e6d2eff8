"""First fits that several runs share."""

from __future__ import annotations

from emea import plugins
from emea.contracts import Encoder
from emea.encoders._training import TrainedEncoder
from emea.method.rounds import Fitting, State
from emea.runs.store import Cell
from emea.settings import EMEA, Settings


class FirstFits:
    """Fits of an encoder to the seeds, shared by runs that differ only in what follows."""

    def __init__(self) -> None:
        self.graphs: tuple[str, float | None, int] | None = None
        self.known: dict[str, FirstFit] = {}

    def of(self, cell: Cell, settings: Settings) -> FirstFit:
        """The fit that a run on this set, ratio and split starts with; fits to other seeds are dropped."""
        graphs = cell.data, cell.ratio, cell.split
        if graphs != self.graphs:
            self.graphs, self.known = graphs, {}
        if settings.method != EMEA or settings.probability.fit_to != "validation":  # hidden seeds may differ
            return FirstFit()
        if not issubclass(plugins.find("encoders", settings.em.encoder, Encoder), TrainedEncoder):
            return FirstFit()  # cannot continue from the end of a fit
        before = (settings.encoder_settings(), settings.evidence, settings.probability)
        made_of = [settings.em.encoder, *(each.model_dump_json() for each in before), settings.seed]
        return self.known.setdefault(repr(made_of), FirstFit())


class FirstFit:
    """The state at the end of a first fit, and how long it took."""

    def __init__(self) -> None:
        self.state: State | None = None
        self.seconds: float | None = None
        self.reached: State | None = None

    def watch(self, fitting: Fitting) -> None:
        """Keep the state at the end of each turn, so that the last turn's remains."""
        progress = fitting.progress
        if fitting.round == 0 and fitting.state is not None and progress.epoch == progress.epochs:
            self.reached = fitting.state()

    def end(self, record: dict[str, float]) -> None:
        """After the first round: charge the fit's time to a run that reused it, or offer the fit to later runs."""
        if self.state is not None and self.seconds is not None:
            record["seconds"] += self.seconds - record["fitting"]
            record["fitting"] = self.seconds
        elif self.reached is not None:
            self.state, self.seconds = self.reached, record["fitting"]
