"""What `calibrant.probabilities` exports besides what stands at the top level; imported when it is first used."""

from calibrant.probabilities.canonical import MedianVariance as MedianVariance
