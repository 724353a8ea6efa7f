"""Privacy and utility of classes: privacy models, loss metrics and risks, each in a file."""
