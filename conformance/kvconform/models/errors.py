"""The one exception that loading a model raises for a reason the user can act on."""

from __future__ import annotations


class ModelError(Exception):
    """A model could not be made ready.

    The message has three parts: what is wrong with which value, where (a file, a package, a parameter path),
    and what to do next. Everything that loads a model raises this and nothing else for bad input, so that a
    command line can print one line and no traceback.
    """

    def __init__(self, problem: str, *, where: str, advice: str) -> None:
        problem = " ".join(problem.split())  # texts of other packages come in several lines
        super().__init__(f"{where}: {problem}. {advice}")
        self.problem = problem
        self.where = where
        self.advice = advice
