"""Links two knowledge graphs: which entities are the same, with a confidence and a reason."""

__version__ = "0.1.0"
