"""What tests read off audits."""


def values(audit):
    """Return the measurements by their names."""
    return {line.name: line for line in audit.findings.measurements}


def notes(found):
    """Return the values of the notes of an audit, or of its verdict, by their keys."""
    return {note.key: note.values for note in getattr(found, "verdict", found).notes}
