"""How the files of made-up runs begin."""

SETTINGS = """method = "emea"
seed = 0
[evidence]
kind = "all"
[matching]
minimum = 0.5
[run]
source = "{source}"
target = "{target}"
sources = {sources}
targets = {targets}
"""
ALIGNMENT = "source\ttarget\tconfidence\tsimilarity\tsource_label\ttarget_label\tsource_type\ttarget_type\tcardinality"
