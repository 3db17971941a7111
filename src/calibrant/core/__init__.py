"""What all subjects share: summaries, the catalogue of verbs, results, findings, null distributions and pictures."""
