"""Threads that wait shall sleep: those of torch spin by default, and starve each other where something else runs."""

import os

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # read when torch is first imported
