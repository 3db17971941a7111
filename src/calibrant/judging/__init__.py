"""From evidence to a verdict: the judge decides, the voice speaks. No other package has tolerances, outcomes or sentences."""
