"""The primer's claims about attention, each measured: `python -m analyses.primer`.

A claim is a file. It states what people say, and a rule: what would have to be found for the claim
to hold. The rule is a constant and stands above the measurement.
"""
