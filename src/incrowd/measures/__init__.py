"""How private and how useful classes are: privacy models, loss metrics and risks, one a file."""
