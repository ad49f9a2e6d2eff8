"""The verbs that show a finished run: report, plot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Run = Annotated[str, typer.Argument(metavar="RUN", help="Folder of a finished run, or its address in a store.")]
Known = Annotated[Path | None, typer.Option(help="True pairs that the run was not given: source and target.")]
Complete = Annotated[
    bool, typer.Option("--complete", help="The pairs are all there are: links from other sources are wrong.")
]


def report(  # noqa: PLR0917 - one parameter for each option
    run: Run,
    reference: Known = None,
    complete: Complete = False,
    against: Annotated[Path | None, typer.Option(metavar="OTHER_RUN", help="Earlier run to compare with.")] = None,
    target: Annotated[Path, typer.Option("--out", help="Page to write.")] = Path("report.html"),
    language: Annotated[
        str | None, typer.Option(help="Languages in which to show names, the best first, such as de,en.")
    ] = None,
) -> None:
    """Write a page about a finished run: its links with reasons, the graphs, confidence, what was left out.

    emea report run

    emea report run --reference truth.tsv --against earlier-run --out report.html
    """
    from emea.cli._console import out
    from emea.formats import nearby
    from emea.report.page import write_report
    from emea.runs.folder import check_run, held
    from emea.runs.wording import languages_of

    languages = languages_of(language)
    with nearby(run) as folder:
        check_run(folder)
        with held(folder, shared=True):
            write_report(
                folder, target, reference=reference, complete=complete, against=against, languages=languages,
                called=folder.name if "://" in run else None,
            )  # fmt: skip
    out.print(f"open {target} in a browser", markup=False, highlight=False, soft_wrap=True)


def plot(
    run: Run,
    name: Annotated[str, typer.Argument(help="Which figure: confidence, rounds, reliability, precision-recall.")],
    target: Annotated[Path, typer.Option("--out", help="File to write: .svg, .png, .pdf, .html or .json.")],
    reference: Known = None,
    complete: Complete = False,
) -> None:
    """Draw a figure of a finished run, for papers.

    emea plot run confidence --out confidence.pdf

    emea plot run reliability --reference truth.tsv --out reliability.svg
    """
    from emea.cli._console import out
    from emea.formats import nearby
    from emea.report.figures import save_plot
    from emea.report.plots import plotted

    with nearby(run) as folder:
        save_plot(plotted(name, folder, reference, complete=complete), target)
    out.print(f"plotted in {target}", markup=False, highlight=False, soft_wrap=True)
