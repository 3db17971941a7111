"""From evidence to a verdict: the judge decides, the voice speaks. Tolerances and sentences are here alone."""
