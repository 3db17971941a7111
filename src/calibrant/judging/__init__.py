"""From evidence to a verdict: the judge decides, the voice speaks. Tolerances, outcomes and sentences are here alone."""
