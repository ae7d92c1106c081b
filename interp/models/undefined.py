"""The error of a quantity that does not exist in a model's family."""


class UndefinedError(ValueError):
    """What was asked for is not defined in this model; the message says why, in one sentence."""
